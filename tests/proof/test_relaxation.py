"""The relaxation of the auxiliary problem: its branching variables, their range, its starts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.proof.relaxation import PlausibleRelaxation, relaxed
from grisaille.search.search_problem import NoRelaxation
from tests.belief.belief_helpers import Fixed, fixed_set, history_at, plausible_set
from tests.proof.proof_helpers import (
    black_box,
    chain,
    linear_program,
    plausible_points,
    prepared,
    scalar,
    several_outputs,
    wave,
)

pytestmark = pytest.mark.slow


def test_the_variables_and_the_nonlinear_outputs_are_branched_on():
    _, relaxation = prepared(several_outputs)
    assert (relaxation.column_of_output >= 0).tolist() == [True, True, True, False]
    _, relaxation = prepared(linear_program)
    assert (relaxation.column_of_output >= 0).tolist() == [False, False]
    assert relaxation.groups == [[0, 1]]
    _, relaxation = prepared(chain)
    assert relaxation.groups == [[0], [1]]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_the_range_of_a_branched_output_is_that_of_its_band(size, sign):
    x = scalar()
    kernel = gs.SquaredExponential(3.0, size**2)
    f = black_box("f", lambda s: sign * size * (1 + np.exp(s)), kernel=kernel, noise=1e-3 * size)
    problem = gs.Problem(minimize=f(x) ** 2)
    for design in ([[-1.0], [0.0], [1.0]], [[-1.0], [1.0]], [[-0.9], [0.3], [1.0], [0.8]]):
        plausible = plausible_set(problem, history_at(problem, design))
        with torch.no_grad():
            relaxation = PlausibleRelaxation(plausible)
            lower, upper = plausible.band(
                plausible.program.calls[0], torch.linspace(-1, 1, 2001).double().unsqueeze(1)
            )
        assert relaxation.lower[1] <= lower.min() + 1e-10 * size
        assert relaxation.upper[1] >= upper.max() - 1e-10 * size
        assert relaxation.lower[1] >= lower.min() - 0.05 * size
        assert relaxation.upper[1] <= upper.max() + 0.05 * size


def test_starts_are_points_of_the_problem_in_their_regions():
    plausible, relaxation = prepared(chain)
    points = plausible_points(plausible, relaxation, 50, 1)
    lower = torch.maximum(points.at - 1e-3, relaxation.lower)
    upper = torch.minimum(points.at + 1e-3, relaxation.upper)
    starts = relaxation.starts(lower, upper)
    assert (starts >= plausible.lower).all()
    assert (starts <= plausible.upper).all()
    x = starts[:, :1]
    inside = (x >= lower[:, 0]) & (x <= upper[:, 0])
    assert inside.any(0).all()  # every region has one
    assert inside.any(1).all()  # and all are in a region


def test_what_is_known_too_little_about_is_named():
    x = scalar()
    f = wave("f")
    secret = gs.WhiteBox(lambda v: v, name="secret")
    problem = gs.Problem(minimize=secret(f(x)))
    plausible = plausible_set(problem, history_at(problem, [[0.1]]))
    with pytest.raises(NoRelaxation, match=r"white box 'secret' has neither"):
        PlausibleRelaxation(plausible)
    problem = gs.Problem(minimize=f(x))
    with pytest.raises(NoRelaxation, match=r"black box 'f' has a model of its own"):
        PlausibleRelaxation(fixed_set(problem, {"f": Fixed(0.0, 1.0)}))
    with pytest.raises(NoRelaxation):
        relaxed(fixed_set(problem, {"f": Fixed(0.0, 1.0)})).relax()


def test_a_relaxation_knows_which_entries_are_whole_and_starts_at_whole_numbers():
    n, x = gs.Integer("n", lower=0, upper=6), gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(
        lambda n, x: np.sin(n) + x, name="f", noise=0.01, kernel=gs.Matern(2.5, 1.0, 1.0)
    )
    _, relaxation = prepared(lambda: gs.Problem(minimize=f(n, x) ** 2))
    assert relaxation.whole is not None
    assert relaxation.whole.tolist() == [True, False, False]
    with torch.no_grad():
        starts = relaxation.starts(relaxation.lower[None], relaxation.upper[None])
    assert (starts[:, 0] == starts[:, 0].round()).all()
    assert set(starts[:, 0].tolist()) == set(range(7))


def test_the_proof_of_a_curve_covers_every_output_in_its_own_band():
    times = np.linspace(0, 1, 15)
    x = scalar()
    f = gs.BlackBox(
        lambda s: np.sin(2 * s + times), name="f", outputs=15, noise=0, shared_kernel=True
    )
    problem = gs.Problem(minimize=np.mean(f(x)))
    plausible = plausible_set(problem, history_at(problem, [[-1.0], [-0.2], [0.5], [1.0]]))
    search = relaxed(plausible)
    found = gs.MultiStart().solve(search, plausible.lower.new_zeros(0, len(plausible.lower)), 0)
    proof = gs.Certified(1e-4, 1e-4, 500).prove(search, found, 0).proof
    grid = torch.linspace(-1, 1, 4001, dtype=torch.float64).unsqueeze(1)
    with torch.no_grad():
        lower, _ = plausible.band(plausible.program.calls[0], grid)
    least = float(lower.mean(1).min())
    assert proof is not None
    assert proof.lower <= least + 1e-9
    assert proof.lower >= least - 0.01
    assert found.value >= least - 1e-9  # outputs that move in patterns reach less
