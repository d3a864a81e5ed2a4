"""The causal problems: their systems, their truths and their optima."""

from __future__ import annotations

import numpy as np
import pytest

from grisaille import problems
from grisaille.lab.problems import Structure

pytestmark = pytest.mark.slow


MAKERS = [problems.toy_graph, problems.constrained_toy_graph, problems.complete_graph]


def simulated_mean(known, x, runs=40_000):
    """Average of Y over many runs of the system itself, and its standard error."""
    causal = known.problem.causal
    (box,) = known.problem.boxes
    many = [causal.runs_of(box.evaluate(x))["Y"] for _ in range(runs // causal.runs)]
    values = np.concatenate(many)
    return values.mean(), values.std() / np.sqrt(len(values))


@pytest.mark.parametrize("make", MAKERS)
def test_the_optimum_is_the_truth_at_the_stated_point_which_is_feasible(make):
    known = make()
    value, violation = known.measure(known.x)
    assert known.kind is Structure.CAUSAL
    assert value == pytest.approx(known.optimum, abs=1e-6)
    assert violation <= 1e-12


@pytest.mark.parametrize("make", MAKERS)
def test_no_point_of_a_dense_sample_is_feasible_and_better(make):
    known = make()
    program = known.problem.program
    generator = np.random.default_rng(0)
    unit = generator.random((400, program.size))
    points = program.lower + (program.upper - program.lower) * unit
    width = program.upper - program.lower
    near = known.x + 0.02 * width * generator.standard_normal((100, program.size))
    near[:, 0] = known.x[0]
    for point in np.concatenate([points, np.clip(near, program.lower, program.upper)]):
        value, violation = known.measure(point)
        assert violation > 0 or known.regret(value) >= -1e-6


@pytest.mark.parametrize("make", MAKERS)
def test_the_truth_agrees_with_runs_of_the_system_under_every_set(make):
    known = make(runs=500)
    causal = known.problem.causal
    generator = np.random.default_rng(1)
    for number in range(len(causal.sets)):
        lower, upper = (getattr(causal.intervened(number).program, e) for e in ("lower", "upper"))
        values = lower + (upper - lower) * (0.3 + 0.4 * generator.random(len(lower)))
        x = causal.design(number, values)
        seen, error = simulated_mean(known, x, runs=6_000)
        assert abs(seen - known.measure(x)[0]) < 4 * error


def test_the_best_value_of_x_in_the_toy_graph_is_the_documented_one():
    known = problems.toy_graph()
    values = np.linspace(-1.13, -1.11, 201)
    found = [known.measure(known.problem.causal.design(0, np.array([v])))[0] for v in values]
    assert values[np.argmin(found)] == pytest.approx(-1.122, abs=5e-4)
    assert min(found) == pytest.approx(-1.464, abs=5e-4)


def test_disturbances_come_from_the_seed():
    answers = [
        known.problem.boxes[0].evaluate(known.x).tolist()
        for known in (problems.toy_graph(3), problems.toy_graph(3), problems.toy_graph(4))
    ]
    assert answers[0] == answers[1]
    assert answers[0] != answers[2]


def test_the_constrained_optimum_lies_where_the_mean_of_z_reaches_its_bound():
    known = problems.constrained_toy_graph()
    causal = known.problem.causal
    assert known.measure(causal.design(0, np.array([-0.1])))[1] == pytest.approx(np.exp(0.1) - 1)
    assert known.measure(causal.design(1, np.array([-1.0])))[0] == pytest.approx(
        -0.510969, abs=1e-6
    )
    assert known.measure(causal.design(0, np.array([1.5])))[1] == pytest.approx(0.5)


def test_observational_data_come_from_the_seed():
    first, again = problems.toy_graph(3), problems.toy_graph(3)
    other = problems.toy_graph(4)
    rows = [k.problem.causal.observations["Y"] for k in (first, again, other)]
    assert rows[0].tolist() == rows[1].tolist()
    assert rows[0].tolist() != rows[2].tolist()
    assert len(rows[0]) == 100
    assert len(problems.toy_graph(observations=0).problem.causal.observations["Y"]) == 0


def test_the_hidden_causes_of_the_complete_graph_are_not_observed():
    causal = problems.complete_graph().problem.causal
    assert set(causal.nodes) == set("ABCDEFY")
    # Y tells of its mechanism unless B is set, because what B would have been is then unknown.
    assert [causal.tells(number, "Y") for number in range(6)] == [
        False, True, True, False, False, True,
    ]  # fmt: skip
