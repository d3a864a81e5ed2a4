"""Pictures of a study."""

from __future__ import annotations

import pytest

import grisaille as gs

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def test_the_picture_is_saved(result: gs.Result, tmp_path):
    path = tmp_path / "convergence.png"
    figure = result.plot(str(path))
    assert path.stat().st_size > 10_000
    assert len(figure.axes) == 2
    (best,) = [line for line in figure.axes[0].lines if line.get_label() == "best feasible"]
    assert best.get_ydata()[-1] == pytest.approx(result.fun)
