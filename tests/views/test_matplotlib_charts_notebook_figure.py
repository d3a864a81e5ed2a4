"""Figures that a notebook shows, and how they are saved."""

from __future__ import annotations

import struct

import pytest

import grisaille as gs
from grisaille.views.matplotlib_charts import NotebookFigure, check_path, save_figure

pytestmark = pytest.mark.slow


def test_a_notebook_gets_twice_the_pixels_that_it_shows():
    content, size = NotebookFigure(figsize=(3, 2), dpi=100)._repr_png_()
    assert size == {"width": 300, "height": 200}
    assert struct.unpack(">II", content[16:24]) == (600, 400)


def test_a_figure_belongs_to_no_window():
    from matplotlib._pylab_helpers import Gcf

    before = set(Gcf.figs)
    NotebookFigure()._repr_png_()
    assert set(Gcf.figs) == before


@pytest.mark.parametrize(
    ("path", "reason"), [("missing/a.png", "No such file"), ("a.nonsense", "nonsense")]
)
def test_a_path_that_cannot_be_written_is_named(tmp_path, path, reason):
    with pytest.raises(gs.ModelError, match=rf"plot_slices\(path=.*{path}.*{reason}"):
        save_figure(NotebookFigure(), tmp_path / path, "plot_slices")


@pytest.mark.parametrize("path", ["", "  ", 3, b"a.png"])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(gs.ModelError, match=r"plot\(path=.*pass the path of a picture, or None"):
        check_path("plot", path)
