"""The reduced problem has the values of the original at the same points."""

from __future__ import annotations

import numpy as np
import torch

import grisaille as gs
from grisaille.belief.learning import input_domain
from grisaille.language.program import split_outputs

f = gs.Variable("f", (2, 2), lower=0, upper=[[1, 0.9], [0.8, 0.7]])
t = gs.Variable("t", lower=300, upper=400)


def problem_with_boxes() -> gs.Problem:
    first = gs.BlackBox(lambda f, t: f.sum() * t, name="first")
    second = gs.BlackBox(lambda z: z, name="second")
    inner = first(f, t)
    return gs.Problem(
        maximize=second(inner + f[0, 1]) - t * f[1, 1],
        subject_to={
            "sum": np.sum(f) == 1,
            "hot": t * f[0, 0] <= 200,
            "linear": f[0, 0] + f[0, 1] <= 0.7,
            "curve": f[0, 0] * t == 90,
            "box": inner >= 1,
        },
    )


def values(problem: gs.Problem, x: np.ndarray) -> tuple[float, np.ndarray]:
    """Objective and constraints, where black boxes are known functions of their inputs."""

    def resolve(call, states):
        return torch.sin(states).sum(1, keepdim=True)

    objective, constraints = split_outputs(problem.program.run(torch.tensor(x[None]), resolve))
    return float(objective[0]), constraints[0].numpy()


def test_objective_and_constraints_are_the_same_at_the_same_point():
    problem = problem_with_boxes()
    elimination, reduced = problem.elimination, problem.searched
    generator = np.random.default_rng(0)
    for _ in range(20):
        point = generator.uniform(reduced.program.lower, reduced.program.upper)
        point[:3] *= 0.3
        full = elimination.expand(point)
        objective, constraints = values(problem, full)
        found = values(reduced, point)
        assert abs(found[0] - objective) < 1e-10
        np.testing.assert_allclose(
            found[1], elimination.constraints_at(full, constraints), atol=1e-10
        )


def test_names_tolerances_and_equalities_that_stay_are_those_of_the_original():
    reduced = problem_with_boxes().searched
    assert reduced.constraint_names == [
        "hot",
        "linear",
        "curve (too large)",
        "curve (too small)",
        "box",
        "f[0,0] >= 0 given sum: sum(f) == 1",
    ]
    assert [c.name for c in reduced.equalities] == ["curve"]
    assert [v.name for v in reduced.variables] == ["f[0,1]", "f[1,0]", "f[1,1]", "t"]


def test_bounds_that_others_imply_are_left_out():
    g = gs.Variable("g", 3, lower=0.2, upper=1)
    reduced = gs.Problem(minimize=g[0], subject_to=[np.sum(g) == 1]).searched
    assert reduced.constraint_names == ["g[2] >= 0.2 given sum(g) == 1"]


def test_calls_stay_in_their_places_and_are_learned_with_the_same_ranges():
    problem = problem_with_boxes()
    elimination, reduced = problem.elimination, problem.searched
    assert elimination.calls == (0, 1)
    for box in problem.boxes[:1]:
        before, after = (input_domain(p.program, box) for p in (problem, reduced))
        np.testing.assert_array_equal(before, after)


def test_calls_that_become_equal_are_one():
    a, b = gs.Variable("a", lower=0, upper=1), gs.Variable("b", lower=0, upper=1)
    box = gs.BlackBox(lambda z: z, name="box")
    problem = gs.Problem(minimize=box(a) + 2 * box(b) + box(a * b), subject_to=[a == b])
    assert problem.elimination.calls == (0, 0, 1)


def test_variables_that_only_the_equalities_read_stay():
    a, b, c = (gs.Variable(n, lower=0, upper=1) for n in "abc")
    problem = gs.Problem(minimize=a, subject_to=[a + 0.1 * b == 0.5, b - c == 0])
    elimination = problem.elimination
    full = elimination.expand(np.array([0.3]))
    assert np.abs(elimination.system.equal @ full - elimination.system.values).max() < 1e-14
