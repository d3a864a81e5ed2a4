"""Figures that a notebook shows as they are, and how they are saved.

PyPlot is not used: it needs a backend, and keeps every figure in memory.
"""

from __future__ import annotations

import os
from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

from grisaille.errors import ModelError, cut, shortened

# A notebook gets twice the dots that it shows per inch, for screens that are that fine.
_SHARPNESS = 2


class NotebookFigure(Figure):
    """A figure that a notebook shows when it is the value of a cell.

    It belongs to no backend and to no window, so that nothing shows it a second time.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and the size in pixels at which to show it."""
        content = BytesIO()
        self.savefig(content, format="png", dpi=_SHARPNESS * self.dpi)
        width, height = self.get_size_inches() * self.dpi
        return content.getvalue(), {"width": round(width), "height": round(height)}

    def __repr__(self) -> str:
        width, height = self.get_size_inches()
        return f"<Figure of {width:g} x {height:g} inches: savefig(path) saves it>"


def check_path(who: str, path: Any) -> None:
    """Raise ModelError unless a path is None or the path of a file."""
    if path is not None and not (isinstance(path, str | os.PathLike) and str(path).strip()):
        raise ModelError(f"{who}(path={shortened(path)}): pass the path of a picture, or None")


def save_figure(figure: Figure, path: str | os.PathLike[str], who: str) -> None:
    """Save a figure; the ending of the path chooses the format.

    Raises:
        ModelError: There is no such folder, or the ending is of no format.
    """
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise ModelError(f"{who}(path={shortened(path)}): {cut(str(error))}") from error
