"""Reading pictures: what is where."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure


def line(axes: Axes, label: str) -> Any:
    """The line of this label."""
    (found,) = [one for one in axes.lines if one.get_label() == label]
    return found


def labels(axes: Axes) -> list[str]:
    """What a legend would say."""
    return axes.get_legend_handles_labels()[1]


def triangles(axes: Axes, top: bool) -> list[float]:
    """Where there are triangles at an edge of the axes."""
    found: list[float] = []
    for part in axes.collections:
        # They are placed by trial along the axis, and by the edge across it.
        if isinstance(part, PathCollection) and part.get_offset_transform() != axes.transData:
            offsets = np.asarray(part.get_offsets())
            found += offsets[offsets[:, 1] == float(top), 0].tolist()
    return sorted(found)


def legend_box(figure: Figure) -> Any:
    """Where the legend is, in pixels."""
    figure.draw_without_rendering()
    legends = [*figure.legends, *(a.get_legend() for a in figure.axes if a.get_legend())]
    (legend,) = legends
    return legend.get_window_extent()


def covers_nothing(figure: Figure) -> bool:
    """Whether the legend overlaps no axes, and so no data."""
    box = legend_box(figure)
    return not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
