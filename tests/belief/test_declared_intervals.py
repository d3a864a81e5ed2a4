"""Intervals that declarations and exact answers leave, and how they cut bands."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.declared_intervals import DeclaredInterval
from grisaille.belief.knowledge import with_pending
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.records import History, Observation, Pending, Suggestion, TrialKind
from tests.belief.belief_helpers import (
    Fixed,
    history_at,
    known_kernel,
    plausible_set,
    random_design,
)

QUICK = gs.Optimistic(solver=gs.MultiStart(2, 64, 10), initial=2)


def declared(function=None, inputs=1, **options):
    """A black box, and its call."""
    box = gs.BlackBox(function, name="f", **{"noise": 0, **options})
    return box, box(gs.Variable("x", inputs, lower=-1, upper=1))


def seen(points, values):
    rows = zip(np.array(points, float), np.array(values, float), strict=True)
    return History(loose=tuple(Observation("f", s, np.atleast_1d(y)) for s, y in rows))


def ends(points, values, states, inputs=1, **options):
    """Lower and upper ends of one output at states, one row each."""
    box, _ = declared(inputs=inputs, **options)
    interval = DeclaredInterval.of(box, seen(points, values))
    lower, upper = interval.ends(torch.tensor(states, dtype=torch.float64))
    return torch.cat([lower, upper], 1).tolist()


def near(rows):
    return [pytest.approx(row, rel=1e-6, abs=1e-6) for row in rows]


# --- the interval --------------------------------------------------------------------------------
def test_a_lipschitz_constant_makes_a_cone_at_each_answer():
    found = ends([[-1], [1]], [0, 2], [[-1], [0], [0.5], [1]], lipschitz=1.5)
    assert found == near([[0, 0], [0.5, 1.5], [1.25, 2.25], [2, 2]])


def test_each_input_has_its_own_lipschitz_constant():
    found = ends([[0, 0]], [3], [[1, 0], [0, 1], [-1, 0.5]], inputs=2, lipschitz=[1.0, 4.0])
    assert found == near([[2, 4], [-1, 7], [0, 6]])


def test_an_increasing_output_lies_between_the_answers_on_either_side():
    found = ends([[-0.5], [0.5]], [1, 2], [[-1], [0], [1]], monotone="increasing")
    assert found == near([[-np.inf, 1], [1, 2], [2, np.inf]])


def test_a_decreasing_output_lies_between_the_answers_on_either_side():
    found = ends([[-0.5], [0.5]], [2, 1], [[-1], [0], [1]], monotone="decreasing")
    assert found == near([[2, np.inf], [1, 2], [-np.inf, 1]])


def test_an_answer_says_nothing_where_an_input_without_direction_differs():
    found = ends([[0, 0]], [1], [[0.5, 0], [0.5, 0.1]], inputs=2, monotone=["increasing", None])
    assert found == near([[1, np.inf], [-np.inf, np.inf]])


def test_with_both_only_the_harmful_direction_costs():
    found = ends([[0]], [1], [[0.5], [-0.5]], monotone="increasing", lipschitz=2.0)
    assert found == near([[1, 2], [0, 1]])


def test_a_declared_range_cuts_the_interval_too():
    assert ends([[0]], [1], [[1]], lipschitz=9.0, lower=0, upper=5) == near([[0, 5]])
    assert ends(np.zeros((0, 1)), [], [[1]], monotone="increasing", lower=0) == [[0, np.inf]]


def test_each_output_has_its_own_slopes():
    box, _ = declared(
        outputs=2,
        lipschitz=[[1.0], [2.0]],
        monotone=[["increasing"], [None]],
    )
    interval = DeclaredInterval.of(box, seen([[0]], [[0, 10]]))
    lower, upper = interval.ends(torch.tensor([[1.0]]).double())
    assert lower.tolist() == near([[0, 8]])
    assert upper.tolist() == near([[1, 12]])


def test_the_function_is_always_inside_and_both_ends_meet_the_declarations():
    def function(s):
        return np.tanh(2 * s[0]) - 0.5 * s[1] + 0.3 * np.sin(3 * s[2])

    monotone, slopes = ["increasing", "decreasing", None], np.array([2.0, 0.5, 0.9])
    box, call = declared(function, 3, monotone=monotone, lipschitz=slopes)
    problem = gs.Problem(minimize=call)
    interval = DeclaredInterval.of(box, history_at(problem, random_design(problem, 12)))
    first, second = (torch.tensor(random_design(problem, 3000, seed)) for seed in (1, 2))
    signs = torch.tensor([1.0, -1.0, 0.0]).double()
    for end, side in zip(interval.ends(first), (1, -1), strict=True):
        truth = torch.tensor([function(s) for s in first.numpy()])
        assert (side * (truth - end[:, 0]) >= -1e-8).all()
    steps = second - first
    allowed = torch.where(signs * steps < 0, 0.0, steps.abs()) @ torch.tensor(slopes)
    for end, after in zip(interval.ends(first), interval.ends(second), strict=True):
        assert (after - end <= allowed.unsqueeze(1) * (1 + 1e-8) + 1e-8).all()


def test_slopes_of_the_ends_are_finite_where_nothing_is_known_of_a_direction():
    box, _ = declared(inputs=2, monotone=["increasing", None], lower=0, upper=9)
    interval = DeclaredInterval.of(box, seen([[0, 0], [0.5, 0]], [1, 2]))
    states = torch.tensor([[0.25, 0.0], [0.25, 0.5]], dtype=torch.float64, requires_grad=True)
    lower, upper = interval.ends(states)
    (lower.sum() + upper.sum()).backward()
    assert states.grad.isfinite().all()


def test_noisy_answers_leave_the_declared_range_alone():
    for noise in (0.1, None):
        found = ends([[0]], [1], [[0.1]], noise=noise, lipschitz=1.0, upper=3)
        assert found == [[-np.inf, 3]]


def test_as_a_surrogate_it_predicts_its_middle_and_half_of_its_width():
    box, _ = declared(lipschitz=1.0)
    interval = DeclaredInterval.of(box, seen([[-1], [1]], [0, 1]))
    states = torch.tensor([[-0.5], [0.5]]).double()
    middle, half = interval.predict(states)
    assert middle.ravel().tolist() == near([[0.0, 1.0]])[0]
    assert half.ravel().tolist() == near([[0.5, 0.5]])[0]
    jointly, covariance = interval.predict_jointly(states.unsqueeze(0))
    assert jointly[0].tolist() == middle.tolist()
    assert covariance[0, 0].tolist() == torch.diag(half.ravel() ** 2).tolist()
    after = interval.with_predicted(states[0])
    assert after.predict(states)[1].ravel().tolist() == near([[0.0, 0.25]])[0]


# --- answers that contradict the declarations ----------------------------------------------------
@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (
            [0, 3],
            {"lipschitz": 2.0},
            r"output 0 of black box 'f' changes by 3, from 0 at \[-0\.5\] to 3 at \[0\.5\], where "
            r"the declared lipschitz=2\.0 allows at most 2: correct the declaration, or leave",
        ),
        (
            [1, 0],
            {"monotone": "increasing"},
            r"changes by 1, from 0 at \[0\.5\] to 1 at \[-0\.5\], where the declared "
            r"monotone='increasing' allows at most 0",
        ),
        (
            [0, 1],
            {"monotone": ["decreasing"], "lipschitz": [4.0]},
            r"lipschitz=\[4\.0\] and monotone=\['decreasing'\] allows at most 0",
        ),
    ],
)
def test_answers_that_contradict_a_declaration_are_named(values, options, message):
    with pytest.raises(gs.AssumptionError, match=message):
        ends([[-0.5], [0.5]], values, [[0]], **options)


def test_rounding_of_answers_contradicts_nothing_and_leaves_an_interval():
    points, values = [[-0.1], [0.0], [0.1]], [1 / 3 + 1e-12, 1 / 3, 1 / 3 - 1e-12]
    for options in ({"monotone": "increasing"}, {"lipschitz": 1e-12}):
        for lower, upper in ends(points, values, [[-0.1], [0.0], [0.05]], **options):
            assert lower <= upper


def test_a_study_goes_on_with_a_better_declaration_and_all_its_answers(tmp_path):
    place = {"strategy": QUICK, "storage": f"sqlite:///{tmp_path}/s.db", "name": "s"}

    def problem(constant):
        return gs.Problem(minimize=declared(lambda x: 3 * x[0], lipschitz=constant)[1])

    with gs.Study(problem(1.0), **place) as study:
        with pytest.raises(gs.AssumptionError, match="'f' changes") as error:
            study.run(4, progress=False)
        answered = len(study.history)
        assert error.value.result.nit == answered > 1
    with gs.Study(problem(3.0), **place, allow_changes=True) as study:
        assert study.run(4, progress=False).nit == 4
        assert study.history.counts() == {"f": 4}


# --- bands ---------------------------------------------------------------------------------------
def band_of(fixed, interval, states):
    box, call = declared(lipschitz=1.0)
    problem = gs.Problem(minimize=call)
    (node,) = problem.program.calls
    beta = {"f": torch.ones(1).double()}
    plausible = PlausibleSet(problem.program, {"f": fixed}, beta, {"f": interval(box)})
    lower, upper = plausible.band(node, torch.tensor(states).double())
    return torch.cat([lower, upper], 1).tolist()


def test_a_band_is_cut_to_its_declared_interval():
    def interval(box):
        return DeclaredInterval.of(box, seen([[0]], [0]))

    states = [[0.5], [1.0]]
    assert band_of(Fixed(0.4, 0.3), interval, states) == near([[0.1, 0.5], [0.1, 0.7]])
    # A band outside of it is a poor fit: the declaration wins.
    assert band_of(Fixed(5.0, 0.3), interval, states) == near([[0.5, 0.5], [1, 1]])
    assert band_of(Fixed(-5.0, 0.3), interval, states) == near([[-0.5, -0.5], [-1, -1]])


def test_the_band_of_an_exact_box_is_cut_and_that_of_a_noisy_one_is_not():
    for noise, reached in ((0, True), (0.1, False)):
        _, call = declared(
            lambda x: 0.1 * x[0], noise=noise, lipschitz=0.1, kernel=known_kernel(0.3, 4.0)
        )
        problem = gs.Problem(minimize=call)
        plausible = plausible_set(problem, history_at(problem, [[0.0]]))
        lower, upper = plausible.band(problem.program.calls[0], torch.ones(1, 1).double())
        assert (float(upper - lower) < 0.21) == reached


def test_bands_that_are_scaled_stay_inside_the_interval():
    _, call = declared(lambda x: 0.1 * x[0], lipschitz=0.1, kernel=known_kernel(0.3, 4.0))
    problem = gs.Problem(minimize=call)
    plausible = plausible_set(problem, history_at(problem, [[0.0]])).scaled(8)
    lower, upper = plausible.band(problem.program.calls[0], torch.ones(1, 1).double())
    assert [lower.item(), upper.item()] == near([[-0.1, 0.1]])[0]


def test_a_pending_answer_is_predicted_inside_the_interval():
    inner, _ = declared(lambda x: 5.0 + 0 * x[0], lipschitz=0.01)
    outer = gs.BlackBox(lambda y: y, name="g", noise=0, kernel=known_kernel())
    problem = gs.Problem(minimize=outer(inner(gs.Variable("x", 1, lower=-1, upper=1))))
    history = history_at(problem, [[0.0]])
    asked = []

    class Recorder(Fixed):
        def with_predicted(self, state):
            asked.append(float(state[0]))
            return self

    beliefs = {"f": Recorder(0.0, 1.0), "g": Recorder(0.0, 1.0)}
    intervals = {"f": DeclaredInterval.of(inner, history)}
    pending = [Pending(Suggestion(TrialKind.OPTIMISTIC, np.array([1.0])))]
    with_pending(problem.program, beliefs, pending, intervals)
    assert asked == near([[1.0, 4.99]])[0]
