"""Confidence bands (Def. hpb_int), and how declarations narrow them."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.learning import accepted, known_range
from grisaille.belief.plausible_set import clip_band
from grisaille.errors import AssumptionError
from tests.belief.belief_helpers import (
    Fixed,
    fixed_set,
    history_at,
    known_kernel,
    plausible_set,
)


def box(**options):
    if "norm_bound" in options:
        options = {"noise": 0, "kernel": known_kernel(), **options}
    return gs.BlackBox(None, name="h", **options)


def band(*rows):
    """Rows (lower, upper) of one output as a band."""
    ends = torch.tensor(rows, dtype=torch.float64)
    return ends[:, :1], ends[:, 1:]


def clipped(declared, *rows):
    lower, upper = clip_band(declared, torch.zeros(len(rows), 1), *band(*rows))
    return torch.cat([lower, upper], 1).tolist()


# --- the band ------------------------------------------------------------------------------------
def test_a_band_is_the_mean_and_beta_deviations_to_either_side():
    x = gs.Variable("x", lower=-2, upper=2)
    h = gs.BlackBox(lambda x: np.sin(x), name="h", kernel=known_kernel(0.8, 2.0), noise=0.3)
    problem = gs.Problem(minimize=h(x))
    history = history_at(problem, [[-1.0], [0.5]])
    states = np.array([[-1.5], [0.0], [0.5], [2.0]])

    inputs, outputs = history.data("h", 1, 1)
    distance = (inputs - inputs.T) / 0.8
    system = 2 * np.exp(-(distance**2) / 2) + 0.09 * np.eye(2)
    cross = 2 * np.exp(-(((inputs - states.T) / 0.8) ** 2) / 2)
    mean = cross.T @ np.linalg.solve(system, outputs)
    deviation = np.sqrt(2 - np.sum(cross * np.linalg.solve(system, cross), 0))[:, None]

    (call,) = problem.program.calls
    for beta in (0.5, 3.0):
        lower, upper = plausible_set(problem, history, beta).band(call, torch.tensor(states))
        np.testing.assert_allclose(lower, mean - beta * deviation, rtol=1e-10)
        np.testing.assert_allclose(upper, mean + beta * deviation, rtol=1e-10)


def test_without_declarations_a_band_stays_as_it_is():
    assert clipped(box(), (-3, 7)) == [[-3, 7]]


# --- norm bound ----------------------------------------------------------------------------------
def test_a_norm_bound_cuts_both_ends():
    rows = [(-5, 5), (-5, 0), (0, 5), (-1, 1), (-2, 2)]
    assert clipped(box(norm_bound=2), *rows) == [[-2, 2], [-2, 0], [0, 2], [-1, 1], [-2, 2]]


def test_a_kernel_of_larger_variance_allows_larger_values_for_the_same_norm():
    # 2 exp(-x^2 / 2) has norm 1 under a kernel of variance 4.
    declared = box(norm_bound=1, kernel=known_kernel(1.0, 4.0))
    assert clipped(declared, (-5, 1.9), (-1, 5)) == [[-2, 1.9], [-1, 2]]
    declared = box(norm_bound=1, kernel=known_kernel(1.0, 0.25))
    assert clipped(declared, (-5, 5)) == [[-0.5, 0.5]]


def test_the_norm_bound_of_a_linear_kernel_grows_with_the_distance_from_the_origin():
    # 2 s has norm 2 under a kernel of variance 1, and reaches 6 at s = 3.
    declared = box(norm_bound=2, kernel=gs.Linear(1.0, 1.0))
    states = torch.tensor([[3.0], [-0.5], [0.0]]).double()
    ends = clip_band(declared, states, *band(*[(-9, 9)] * 3))
    torch.testing.assert_close(
        torch.cat(ends, 1), torch.tensor([[-6.0, 6], [-1, 1], [0, 0]]).double()
    )


def test_a_linear_function_beyond_its_norm_bound_far_from_the_origin_is_not_infeasible():
    x = gs.Variable("x", lower=1, upper=3)
    kernel, twice = gs.Linear(1.0, 1.0), lambda x: 2 * x
    f = gs.BlackBox(twice, name="f", noise=0, kernel=kernel, norm_bound=2.0)
    result = gs.Problem(minimize=x, subject_to=[f(x) >= 5]).solve(2, progress=False)
    assert result.status == gs.Status.MAX_TRIALS
    assert result.lower_bound <= 2.5


def test_the_known_range_of_a_linear_kernel_follows_from_the_range_of_its_inputs():
    x = gs.Variable("x", 2, lower=[-1, 0], upper=[0.5, 2])
    f = box(norm_bound=2, kernel=gs.Linear([1.0, 4.0], 1.0))
    lower, upper = known_range(f(x))
    assert upper[0] == pytest.approx(2 * np.hypot(1, 0.5))
    assert lower[0] == -upper[0]
    assert np.isnan(known_range(box(norm_bound=2, kernel=gs.Linear(1.0, 1.0))(x[0] ** 2))).all()


@pytest.mark.parametrize("row", [(2.1, 5), (-5, -2.1)])
def test_a_band_beyond_the_norm_bound_is_a_broken_assumption(row):
    with pytest.raises(
        AssumptionError,
        match=r"the data put black box 'h' outside ±2, which its norm bound allows: raise "
        r"norm_bound \(Assumption bounded_norm\) or leave it out",
    ):
        clip_band(box(norm_bound=2), torch.zeros(2, 1), *band((-1, 1), row))


@pytest.mark.parametrize("row", [(2 + 1e-12, 2 + 2e-12), (-2 - 2e-12, -2 - 1e-12)])
def test_rounding_at_the_norm_bound_breaks_no_assumption(row):
    ((low, high),) = clipped(box(norm_bound=2), row)
    assert low == high == np.sign(row[0]) * 2


def test_data_that_break_the_norm_bound_are_told_from_infeasibility():
    x = gs.Variable("x", lower=-2, upper=2)
    h = gs.BlackBox(lambda x: 10.0, name="plant", kernel=known_kernel(), noise=0, norm_bound=3.5)
    problem = gs.Problem(minimize=h(x))
    plausible = plausible_set(problem, history_at(problem, [[0.0]]))
    with pytest.raises(AssumptionError, match=r"the data put black box 'plant' outside ±3\.5"):
        plausible.evaluate(torch.zeros(1, 2).double())


# --- output range --------------------------------------------------------------------------------
def test_an_output_range_cuts_both_ends():
    assert clipped(box(lower=0, upper=1), (-3, 7), (0.5, 7), (-3, 0.5)) == [
        [0, 1],
        [0.5, 1],
        [0, 0.5],
    ]


def test_an_output_range_may_have_one_end():
    assert clipped(box(lower=0), (-3, 7)) == [[0, 7]]
    assert clipped(box(upper=0), (-3, 7)) == [[-3, 0]]


def test_a_band_beyond_the_output_range_comes_to_rest_on_its_end():
    assert clipped(box(lower=0, upper=1), (-5, -4), (3, 4)) == [[0, 0], [1, 1]]


def test_each_output_has_its_own_range():
    declared = box(outputs=2, lower=[0, -np.inf], upper=[np.inf, 5])
    lower, upper = torch.full((1, 2), -9.0).double(), torch.full((1, 2), 9.0).double()
    ends = clip_band(declared, torch.zeros(1, 1), lower, upper)
    assert [e.tolist() for e in ends] == [[[0, -9]], [[9, 5]]]


def test_norm_bound_and_output_range_both_cut():
    assert clipped(box(norm_bound=2, lower=0), (-5, 5)) == [[0, 2]]


def test_clipped_ends_pass_gradients_only_where_they_are_free():
    lower, upper = (e.requires_grad_() for e in band((-5, 0.5), (0.25, 7)))
    ends = clip_band(box(lower=0, upper=1), torch.zeros(2, 1), lower, upper)
    (ends[0].sum() + ends[1].sum()).backward()
    assert lower.grad.ravel().tolist() == [0, 1]
    assert upper.grad.ravel().tolist() == [1, 0]


# --- input range ---------------------------------------------------------------------------------
def test_states_are_moved_into_the_range_a_box_accepts():
    states = torch.tensor([[-1.0, 5.0], [0.5, 0.5]]).double()
    assert accepted(box(), states).tolist() == [[-1, 5], [0.5, 0.5]]
    assert accepted(box(input_lower=0), states).tolist() == [[0, 5], [0.5, 0.5]]
    assert accepted(box(input_upper=[1, 2]), states).tolist() == [[-1, 2], [0.5, 0.5]]


def test_a_band_is_asked_for_inside_the_range_a_box_accepts_only():
    asked = []

    def mean(states):
        asked.append(states.clone())
        return states

    x = gs.Variable("x", lower=-3, upper=3)
    h = box(input_lower=0, input_upper=1)
    problem = gs.Problem(minimize=h(x))
    (call,) = problem.program.calls
    plausible = fixed_set(problem, {"h": Fixed(mean, 0.5)}, beta=2)
    lower, upper = plausible.band(call, torch.tensor([[-3.0], [0.5], [3.0]]).double())
    assert asked[0].tolist() == [[0], [0.5], [1]]
    assert lower.tolist() == [[-1], [-0.5], [0]]
    assert upper.tolist() == [[1], [1.5], [2]]
