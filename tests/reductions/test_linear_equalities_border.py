"""Strategies see a problem without linear equalities, and studies one with them."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs

QUICK = gs.MultiStart(starts=4, samples=128, iterations=15)
TARGET = np.array([0.2, 0.5, 0.3])


def away(f):
    return float(((f - TARGET) ** 2).sum())


def spiced(f):
    return float(f[0] * f[2])


def problem(step: float | None = None) -> gs.Problem:
    f = gs.Variable("f", 3, lower=0, upper=1, step=step)
    far, hot = gs.BlackBox(away, noise=0), gs.BlackBox(spiced, noise=0)
    return gs.Problem(
        minimize=far(f), subject_to={"sum": np.sum(f) == 1, "hot": hot(f) <= 0.05, "f": f[0] <= 0.9}
    )


def asked(study: gs.Study) -> np.ndarray:
    """Every point and every input that was ever asked for."""
    points = [entry.suggestion.x for entry in study.state.trials.values()]
    return np.array([*points, *(seen.inputs for seen in study.history.observations())])


STRATEGIES = [
    gs.Optimistic(solver=QUICK),
    gs.LogEI(restarts=2, raw_samples=32),
    gs.EIFN(),
    gs.EICF(),
    gs.CUQB(),
    gs.CONFIG(solver=QUICK),
    gs.RandomSearch(),
    gs.SobolSearch(),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("step", [None, 0.05])
def test_every_point_ever_asked_for_meets_the_equality_to_rounding(strategy, step):
    study = gs.Study(problem(step), strategy=strategy, seed=2)
    study.run(7 if step is None else 6, progress=False)
    points = asked(study)
    assert np.abs(points.sum(1) - 1).max() < 1e-12
    assert points.min() >= 0
    if step is not None:
        np.testing.assert_allclose(points / step, np.rint(points / step), atol=1e-9)


def test_decisions_can_be_derived_again_and_results_have_whole_points():
    f = gs.Variable("f", 3, lower=0, upper=1)
    hot = gs.BlackBox(spiced, noise=0)
    known = gs.Problem(
        minimize=np.sum((f - TARGET) ** 2), subject_to=[np.sum(f) == 1, hot(f) <= 0.05]
    )
    study = gs.Study(known, strategy=gs.Optimistic(solver=QUICK), seed=0)
    result = study.run(11, progress=False)
    np.testing.assert_array_equal(study.replay(10).x, result.history.trials[9].x)
    assert result.x.shape == (3,)
    # The best point of the mixture where f0 f2 <= 0.05, from a fine grid.
    grid = np.linspace(0, 1, 401)
    rows = [(a, b, 1 - a - b) for a in grid for b in grid if a + b <= 1]
    best = min(away(np.array(r)) for r in rows if r[0] * r[2] <= 0.05)
    assert result.success
    assert result.fun <= best + 1e-3
    assert result.lower_bound <= best + 1e-9


def test_a_strategy_of_ones_own_sees_the_entries_that_are_left():
    class Middle(gs.Strategy):
        def suggest(self, situation):
            assert [v.name for v in situation.problem.variables] == ["f[0]", "f[1]"]
            assert all(len(trial.x) == 2 for trial in situation.history)
            return np.array([0.25, 0.25])

    result = problem().solve(2, strategy=Middle(), progress=False)
    np.testing.assert_allclose(result.x, [0.25, 0.25, 0.5], atol=1e-15)


def test_a_point_of_another_length_says_which_entries_are_left():
    class Whole(gs.Strategy):
        def suggest(self, situation):
            return np.array([0.25, 0.25, 0.5])

    message = r"array of 2 numbers \(f\[0\], f\[1\]: the linear equalities give the others\)"
    with pytest.raises(gs.ModelError, match=message):
        problem().solve(1, strategy=Whole(), progress=False)


def test_own_initial_points_are_whole_points():
    first = [[0.1, 0.1, 0.8], [0.5, 0.5, 0.0]]
    for strategy in (gs.Optimistic(initial=first, solver=QUICK), gs.CONFIG(initial=first)):
        result = problem().solve(2, strategy=strategy, progress=False)
        np.testing.assert_allclose([t.x for t in result.history], first, atol=1e-15)
    with pytest.raises(gs.ModelError, match=r"initial: a point breaks sum: sum\(f\) == 1"):
        gs.Study(problem(), strategy=gs.Optimistic(initial=[[0.1, 0.1, 0.1]]))


def test_trials_off_the_equality_teach_but_are_never_the_best():
    study = gs.Study(problem(), strategy=gs.Optimistic(solver=QUICK), seed=0)
    off = np.array([0.2, 0.5, 0.2])
    study.observe("away", off, [away(off)])
    study.observe("spiced", off, [spiced(off)])
    assert len(study.history) == 1
    assert not study.result().success
    result = study.run(4, progress=False)
    assert result.success
    assert abs(result.x.sum() - 1) < 1e-12
    assert result.evaluations == {"away": 5, "spiced": 5}


def test_pending_trials_are_seen_without_the_equality_too():
    study = gs.Study(problem(), strategy=gs.Optimistic(solver=QUICK), seed=0)
    study.run(3, progress=False)
    queries = study.ask(4)
    assert np.abs(np.array([q.inputs for q in queries]).sum(1) - 1).max() < 1e-12


def test_calls_that_become_equal_keep_their_answers_apart():
    a, b = gs.Variable("a", lower=0, upper=1), gs.Variable("b", lower=0, upper=1)
    box = gs.BlackBox(lambda z: (z - 0.3) ** 2, name="box", noise=0)
    two = gs.Problem(minimize=box(a) + 2 * box(b) + a, subject_to=[a == b])
    result = two.solve(8, strategy=gs.Optimistic(solver=QUICK), progress=False)
    assert result.fun == pytest.approx(3 * (2 / 15 - 0.3) ** 2 + 2 / 15, abs=1e-3)


def test_certificates_name_the_equality():
    f = gs.Variable("f", 2, lower=0, upper=1)
    box = gs.BlackBox(lambda f: float(f.sum()), name="box", noise=0, lower=0, upper=0.5)
    hopeless = gs.Problem(minimize=f[0], subject_to={"sum": f.sum() == 1, "much": box(f) >= 0.7})
    strategy = gs.Optimistic(beta=gs.Declared())
    result = hopeless.solve(3, strategy=strategy, progress=False)
    assert result.status == "infeasible"
    assert result.certificate.verify()
    assert result.certificate.blame() == ["much"]


def test_an_unknown_of_a_known_linear_equation_is_no_unknown_to_rivals():
    x = gs.Variable("x", lower=0, upper=1)
    rest = gs.Unknown("rest", lower=0, upper=1)
    box = gs.BlackBox(lambda x, rest: (x - 0.4) ** 2 + rest, name="box", noise=0)
    linear = gs.Problem(minimize=box(x, rest), equations=[rest == 1 - x])
    result = linear.solve(6, strategy=gs.EIFN(), progress=False)
    assert max(abs(t.x.sum() - 1) for t in result.history) < 1e-9
