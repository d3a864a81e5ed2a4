"""The system behind a problem over interventions, simulated or real."""

from __future__ import annotations

import cloudpickle
import numpy as np
import pytest

import grisaille as gs
from tests.language.causal.causal_helpers import chain_model, mechanism, three_sets

pytestmark = pytest.mark.slow


def test_a_simulated_system_follows_its_mechanisms():
    problem, _ = three_sets(runs=1000)
    causal = problem.causal
    runs = causal.runs_of(problem.boxes[0].evaluate(causal.design(0, np.array([1.5]))))
    assert (runs["X"] == 1.5).all()
    assert runs["Z"].mean() == pytest.approx(4.5, abs=0.06)
    assert runs["Z"].std() == pytest.approx(0.5, abs=0.05)
    assert runs["Y"].mean() == pytest.approx(4.5**2 + 0.25, abs=0.6)
    residual = runs["Y"] - runs["Z"] ** 2  # downstream reads the disturbed value
    assert residual.std() == pytest.approx(0.5, abs=0.05)
    watched = causal.runs_of(problem.boxes[0].evaluate(causal.design(2, np.zeros(0))))
    assert watched["X"].mean() == pytest.approx(1.0, abs=0.25)
    assert watched["X"].std() == pytest.approx(2.0, abs=0.2)


def test_a_simulated_system_reads_natural_values_in_a_child_process_too():
    b = gs.exogenous(lambda: 0.0, name="B", noise=1.0)
    c = mechanism(lambda b: b, "C", noise=0.1)(b)
    y = mechanism(lambda c, b: c + 10 * b, "Y", noise=0.1)(c, gs.natural(b))
    model = gs.Problem(minimize=y)
    problem = gs.causal_problem(model, [gs.do(b, lower=4.9, upper=5.1)], runs=300)
    study = gs.Study(problem, strategy=gs.RandomSearch())
    result = study.run(1, workers=1, progress=False)
    # E[Y | do(B = 5)] = 5, with a standard error of 10 / sqrt(300); it would be 55 otherwise.
    assert result.history.trials[0].objective == pytest.approx(5.0, abs=4.0)


def test_simulated_values_stay_within_the_declared_range():
    x = gs.exogenous(lambda: 0.0, name="X", noise=1.0)
    y = mechanism(lambda x: x, "Y", lower=-0.5, upper=0.25)(x)
    problem = gs.causal_problem(
        gs.Problem(minimize=y), [[], gs.do(x, lower=-1, upper=1)], runs=50, seed=0
    )
    causal = problem.causal
    seen = causal.runs_of(problem.boxes[0].evaluate(causal.design(0, np.zeros(0))))
    assert (seen["Y"].min(), seen["Y"].max()) == (-0.5, 0.25)
    assert seen["X"].min() < -1


def test_without_a_seed_a_new_process_does_not_repeat_the_disturbances_of_the_last():
    # Built twice, as by a script that is started again to resume its study.
    first, again = three_sets(seed=None)[0], three_sets(seed=None)[0]
    x = first.causal.design(1, np.array([2.0]))
    assert first.boxes[0].evaluate(x).tolist() != again.boxes[0].evaluate(x).tolist()


def test_repeated_points_are_disturbed_anew_and_scripts_with_a_seed_repeat_themselves():
    first, again = three_sets()[0], three_sets()[0]
    x = first.causal.design(1, np.array([2.0]))
    answers = [p.boxes[0].evaluate(x).tolist() for p in (first, first, again)]
    assert answers[0] != answers[1]
    assert answers[0] == answers[2]


def test_another_process_draws_disturbances_of_its_own():
    problem = three_sets()[0]
    x = problem.causal.design(1, np.array([2.0]))
    packed = cloudpickle.dumps(problem.boxes[0].fn)
    answers = [cloudpickle.loads(packed)(*x) for _ in range(2)]
    assert answers[0].tolist() != answers[1].tolist()
    # There, too, Y listens to what Z was set to.
    assert problem.causal.runs_of(answers[0])["Y"] == pytest.approx([4.0] * 2, abs=2.5)
    problem.boxes[0].evaluate(x)
    assert cloudpickle.dumps(problem.boxes[0].fn) == packed  # so that it is sent only once


def test_a_system_of_the_users_own_is_asked_run_by_run():
    model, x, z, _ = chain_model()
    u = gs.Variable("u", 2, lower=0, upper=1)
    model = gs.Problem(minimize=model.objective + np.sum(u))
    asked = []

    def system(values, generator):
        asked.append(values)
        return {"X": 1, "Y": 2.0, "Z": -9.0}

    problem = gs.causal_problem(model, [gs.do(z, lower=0, upper=1)], system=system, runs=3)
    causal = problem.causal
    inner = causal.intervened(0).variables
    point = np.concatenate([[0.25, 0.75] if v.name == "u" else [0.5] for v in inner])
    x = causal.design(0, point)
    answers = problem.boxes[0].evaluate(x)
    assert [a["Z"] for a in asked] == [0.5] * 3
    assert asked[0]["u"].tolist() == [0.25, 0.75]
    assert causal.runs_of(answers)["Z"].tolist() == [0.5] * 3  # what was set, not what it says
    assert causal.rows(x, answers)["u"].tolist() == [[0.25, 0.75]] * 3
    assert causal.read(x)[1].tolist() == point.tolist()


def test_a_system_that_forgets_a_variable_fails_by_name():
    model, x, _, _ = chain_model()
    problem = gs.causal_problem(
        model, [gs.do(x, lower=0, upper=1)], system=lambda values, generator: {"Z": 1.0}
    )
    with pytest.raises(gs.EvaluationError, match="values for 'Z', but none for 'Y'"):
        problem.boxes[0].evaluate(np.array([0.5]))
    problem = gs.causal_problem(
        model, [gs.do(x, lower=0, upper=1)], system=lambda values, generator: 3.0
    )
    with pytest.raises(gs.EvaluationError, match=r"the system returned 3.0: return a dictionary"):
        problem.boxes[0].evaluate(np.array([0.5]))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"returned None: return a dictionary .* \(does it lack a return statement\?\)"),
        ({"Z": 1.0, "Y": np.nan}, "returned nan for 'Y': every variable must be a finite number"),
        ({"Z": 1.0, "Y": np.ma.masked}, "returned masked for 'Y': every variable must be"),
        ({"Z": 1.0, "Y": True}, "returned True for 'Y': every variable must be"),
        ({"Z": 1.0, "Y": "high"}, "returned 'high' for 'Y': every variable"),
        ({"Z": None, "Y": 1.0}, "returned None for 'Z': every variable"),
        ({"Z": [1.0, 2.0], "Y": 1.0}, r"returned \[1.0, 2.0\] for 'Z': every variable"),
    ],
)
def test_a_system_that_answers_with_no_numbers_fails_by_name(answer, message):
    model, x, _, _ = chain_model()
    sets = [gs.do(x, lower=0, upper=1)]
    problem = gs.causal_problem(model, sets, system=lambda values, generator: answer, runs=50)
    with pytest.raises(gs.EvaluationError, match=f"the system {message}"):
        problem.boxes[0].evaluate(np.array([0.5]))
