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


def test_the_axis_has_the_name_and_unit_of_the_objective(result: gs.Result):
    assert result.plot().axes[0].get_ylabel() == "objective (minimize)"
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: x, name="f", noise=0)(x)
    problem = gs.Problem(maximize=gs.named("profit", 3 * y, unit="$/s"))
    figure = problem.solve(3, strategy=gs.RandomSearch(), progress=False).plot()
    assert figure.axes[0].get_ylabel() == "profit in $/s (maximize)"
