"""Loops are closed by iterating, or never; unknowns of known equations are solved for."""

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import EvaluationError, ModelError
from grisaille.language.loops import MOST_ROUNDS, Loops

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256, iterations=20), initial=4)


def looped(phi, low=-5.0, high=5.0):
    x = gs.Variable("x", lower=0, upper=1)
    t = gs.Unknown("t", lower=low, upper=high)
    box = gs.BlackBox(phi, name="phi", noise=0)
    return gs.Problem(minimize=(t - 0.6) ** 2 + 0.1 * x, equations={"loop": t == box(x, t)})


def test_chained_evaluation_ends_at_the_fixed_point_and_counts_every_call():
    problem = looped(lambda x, t: np.cos(t) * x)
    result = problem.solve(5, strategy=QUICK, evaluation="chained", progress=False)
    for trial in result.history:
        values = dict(zip([v.name for v in problem.variables], trial.x, strict=True))
        x, t = values["x"], values["t"]
        assert t == pytest.approx(np.cos(t) * x, abs=1e-4)
        assert trial.violation == 0
    assert result.evaluations["phi"] > len(result.history)
    assert result.evaluations["phi"] == sum(len(t.observations) for t in result.history)


def test_separate_evaluation_never_iterates():
    result = looped(lambda x, t: np.cos(t) * x).solve(8, strategy=QUICK, progress=False)
    assert result.evaluations["phi"] == 8


def test_extrapolation_converges_where_plain_iteration_does_not():
    # The slope is -1.5 around the loop: going around would end nowhere.
    problem = looped(lambda x, t: 1 + x - 1.5 * t)
    result = problem.solve(3, strategy=QUICK, evaluation="chained", progress=False)
    for trial in result.history:
        assert sorted(trial.x)[0] >= 0
        assert trial.violation == 0


def test_a_loop_without_a_fixed_point_fails_with_a_sentence_and_never_goes_on_for_ever():
    calls = []

    def jump(x, t):
        calls.append(t)
        return -1.0 if t > 0 else 1.0

    study = gs.Study(looped(jump), strategy=QUICK, evaluation="chained")
    with pytest.raises(EvaluationError) as caught:
        study.run(trials=8, progress=False)
    assert len(calls) <= 8 * MOST_ROUNDS
    assert "the loop does not converge" in str(caught.value)
    assert "loop" in str(caught.value)


def test_a_loop_whose_equation_is_not_solved_for_its_unknown_cannot_be_chained():
    x = gs.Variable("x", lower=0, upper=1)
    t = gs.Unknown("t", lower=0, upper=1)
    box = gs.BlackBox(lambda x, t: x - t, name="phi", noise=0)
    problem = gs.Problem(minimize=x, equations=[box(x, t) == 0.1])
    with pytest.raises(ModelError, match="write each equation of the loop as t == "):
        gs.Study(problem, evaluation="chained")
    gs.Study(problem)  # separate evaluation needs nothing of that


def test_unknowns_of_known_equations_are_solved_for_after_the_answers():
    x = gs.Variable("x", lower=0.5, upper=2)
    v = gs.Unknown("v", lower=0, upper=3)
    box = gs.BlackBox(lambda x: x**2, name="square", noise=0)
    problem = gs.Problem(minimize=(v - 1) ** 2, equations=[v**3 + v == box(x)])
    result = problem.solve(6, strategy=QUICK, progress=False)
    for trial in result.history:
        values = dict(zip([w.name for w in problem.variables], trial.x, strict=True))
        assert values["v"] ** 3 + values["v"] == pytest.approx(values["x"] ** 2, abs=1e-9)
    assert result.evaluations["square"] == 6


def test_extrapolation_of_a_linear_loop_is_exact_after_as_many_rounds_as_it_has_streams():
    x = gs.Variable("x", lower=0, upper=1)
    t = gs.Unknown("t", shape=2, lower=-50, upper=50)
    box = gs.BlackBox(lambda x, t: t, name="phi", outputs=2, noise=0)
    problem = gs.Problem(minimize=np.sum(t), equations=[t == box(x, t) + x])
    loops, matrix = Loops(problem), np.array([[0.5, 0.3], [-0.4, 0.2]])
    start = np.zeros(3)
    points, images = [start], [np.ones(2)]
    for _ in range(3):
        points.append(loops.next_point(points, images))
        images.append(matrix @ points[-1][loops.torn] + 1)
    assert points[-1][loops.torn] == pytest.approx(np.linalg.solve(np.eye(2) - matrix, [1, 1]))


def test_a_killed_loop_goes_on_where_it_was(tmp_path):
    storage = f"sqlite:///{tmp_path}/loop.db"

    def phi(x, t):
        return np.cos(t) * x

    whole = gs.Study(looped(phi), strategy=QUICK, evaluation="chained", seed=1)
    expected = whole.run(trials=3, progress=False)
    study = gs.Study(
        looped(phi), name="a", storage=storage, strategy=QUICK, evaluation="chained", seed=1
    )
    for _ in range(5):  # in the middle of a loop
        (query,) = study.ask()
        study.tell(query.id, phi(*query.arguments))
    again = gs.Study(
        looped(phi), name="a", storage=storage, strategy=QUICK, evaluation="chained", seed=1
    )
    result = again.run(trials=3, progress=False)
    assert result.fun == pytest.approx(expected.fun, rel=1e-9)
    assert result.evaluations == expected.evaluations
