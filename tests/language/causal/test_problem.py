"""The causal language: exogenous variables, do, intervene, natural, causal_problem."""

from __future__ import annotations

import pickle

import cloudpickle
import numpy as np
import pandas as pd
import pytest
import torch

import grisaille as gs
from grisaille.language.causal.do import is_natural
from grisaille.language.fingerprint import fingerprint


def mechanism(fn, name, **options):
    return gs.BlackBox(fn, name=name, **{"noise": 0.5, "process_noise": True, **options})


def chain_model(**options):
    """X -> Z -> Y."""
    x = gs.exogenous(lambda: 1.0, name="X", noise=2.0)
    z = mechanism(lambda x: 3 * x, "Z")(x)
    y = mechanism(lambda z: z**2, "Y")(z)
    return gs.Problem(minimize=y, **options), x, z, y


def run(problem, point, answers):
    def resolve(call, states):
        return answers[call.box.name](*states.T).reshape(-1, 1)

    return problem.program.run(torch.tensor([point], dtype=torch.float64), resolve)


# --- the model -----------------------------------------------------------------------------------
def test_a_model_may_have_no_variable_at_all():
    model, *_ = chain_model()
    assert model.variables == ()
    assert repr(model) == "minimize Y(Z(X()))"
    assert "███  X" in model.diagram()
    assert "black box X: arguments [], noise 2.0, process_noise yes" in fingerprint(model)
    assert model.program.process_noise
    assert model.program.lower.shape == (0,)


def test_a_model_without_a_variable_cannot_be_solved_as_it_is():
    model, *_ = chain_model()
    with pytest.raises(gs.ModelError, match=r"no variable, .* gs.causal_problem"):
        model.solve(trials=1, progress=False)


def test_a_call_without_arguments_runs_for_every_point_of_a_batch():
    model, *_ = chain_model()
    seen = []

    def resolve(call, states):
        seen.append((call.box.name, tuple(states.shape)))
        return torch.ones(len(states), 1, dtype=torch.float64)

    (out,) = model.program.run(torch.zeros(5, 0, dtype=torch.float64), resolve)
    assert out.shape == (5,)
    assert seen == [("X", (5, 0)), ("Z", (5, 1)), ("Y", (5, 1))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0}, "'Z' has process_noise=True and noise=0: give the standard deviation"),
        ({"process_noise": "yes"}, "'Z' has process_noise='yes': pass True or False"),
        ({"noise": None, "model": lambda x, y: None}, "model=, which does not tell"),
    ],
)
def test_process_noise_is_checked(options, message):
    with pytest.raises(gs.ModelError, match=message):
        mechanism(None, "Z", **options)


def test_an_exogenous_variable_is_evaluated_along_a_chain():
    u = gs.Variable("u", lower=0, upper=1)
    w = gs.exogenous(lambda: 2.0, name="W", noise=0.1)
    y = gs.BlackBox(lambda u, w: u + w, name="Y", noise=0)
    result = gs.Problem(minimize=y(u, w)).solve(3, strategy=gs.RandomSearch(), progress=False)
    assert [t.chain.tolist()[0] for t in result.history] == [2.0] * 3


# --- do and intervene ----------------------------------------------------------------------------
def test_an_intervention_cuts_a_variable_off_from_its_causes():
    model, x, z, _ = chain_model()
    after = gs.intervene(model, gs.do(z, lower=-1, upper=1))
    assert repr(after) == "minimize Y(Z)"
    assert [b.name for b in after.boxes] == ["Y"]
    both = gs.intervene(model, gs.do(x, lower=0, upper=9), gs.do(z, lower=-1, upper=1))
    assert [v.name for v in both.variables] == ["Z"]
    assert [b.name for b in model.boxes] == ["X", "Z", "Y"]  # it is as it was


def test_an_intervention_reaches_every_place_that_reads_its_target():
    u = gs.Variable("u", lower=0, upper=1)
    a = gs.BlackBox(lambda u: u, name="a", noise=0)
    b = gs.BlackBox(lambda a: a, name="b", noise=0)
    problem = gs.Problem(maximize=b(a(u)) * a(u) + u, subject_to=[a(u) >= 3 * b(a(u))])
    after = gs.intervene(problem, gs.do(a(u), lower=-2, upper=2))
    assert repr(after) == "maximize b(a) * a + u\n  subject to a >= 3 * b(a)"
    point = {"a": 1.5, "u": 0.25}
    flat = [point[v.name] for v in after.variables]
    objective, body = run(after, flat, {"b": lambda a: 7 * a})
    assert objective.item() == pytest.approx(-(7 * 1.5 * 1.5 + 0.25))
    assert body.item() == pytest.approx(3 * 7 * 1.5 - 1.5)


def test_interventions_do_not_reach_through_natural():
    b = gs.exogenous(name="B")
    c = mechanism(None, "C")(b)
    y = mechanism(None, "Y")(c, gs.natural(b))
    model = gs.Problem(minimize=y)
    after = gs.intervene(model, gs.do(b, lower=-1, upper=1))
    assert repr(after) == "minimize Y(C(B), natural(B()))"
    five = torch.tensor([5.0], dtype=torch.float64)
    answers = {"B": lambda: five, "C": lambda b: 10 * b, "Y": lambda c, b: c + b}
    (out,) = run(after, [0.5], answers)
    assert out.item() == pytest.approx(10 * 0.5 + 5.0)


def test_a_copy_of_natural_is_natural():
    b = gs.exogenous(name="B")
    expression = gs.natural(b)
    copy = cloudpickle.loads(cloudpickle.dumps(expression))
    assert is_natural(copy)
    assert pickle.loads(pickle.dumps(expression.atom)) is expression.atom


def test_an_exogenous_variable_with_a_cause_is_refused_when_it_is_declared():
    with pytest.raises(
        gs.ModelError, match=r"'X' has the function <lambda>\(a\), missing .* no arguments"
    ):
        gs.exogenous(lambda a: 0.0, name="X")


def test_minimal_interventions_wants_a_list():
    model, x, _, _ = chain_model()
    for wrong in (gs.do(x, lower=0, upper=1), 3):
        with pytest.raises(gs.ModelError, match=r"minimal_interventions: dos is .*: pass a list"):
            gs.minimal_interventions(model, wrong)


def test_what_cannot_be_set_is_refused_by_name():
    model, x, z, _ = chain_model()
    two = gs.BlackBox(None, name="two", outputs=2, process_noise=True)(x)
    other = mechanism(None, "other")(x)
    with pytest.raises(gs.ModelError, match=r"only what a black box or gs.exogenous gives"):
        gs.do(x + 1, lower=0, upper=1)
    with pytest.raises(gs.ModelError, match="'two' has 2 outputs; an intervention sets one"):
        gs.do(two, lower=0, upper=1)
    with pytest.raises(gs.ModelError, match="'Z' has lower bound 1 and upper bound 0"):
        gs.do(z, lower=1, upper=0)
    with pytest.raises(gs.ModelError, match=r"other\(X\(\)\) is not part of the problem, .*'Z'"):
        gs.intervene(model, gs.do(other, lower=0, upper=1))
    with pytest.raises(gs.ModelError, match="'Z' is set twice"):
        gs.intervene(model, gs.do(z, lower=0, upper=1), gs.do(z, lower=0, upper=1))
    with pytest.raises(gs.ModelError, match=r"pass what gs.do\(...\) gives"):
        gs.intervene(model, z)


# --- the problem over interventions --------------------------------------------------------------
def three_sets(runs=2, seed=0, **options):
    model, x, z, y = chain_model(**options)
    sets = [gs.do(x, lower=-5, upper=5), gs.do(z, lower=-1, upper=4), []]
    return gs.causal_problem(model, sets, runs=runs, seed=seed), (x, z, y)


def test_it_is_an_ordinary_problem_with_one_black_box():
    problem, _ = three_sets(runs=2)
    assert [v.name for v in problem.variables] == ["intervention", "X", "Z"]
    (box,) = problem.boxes
    assert (box.name, box.outputs) == ("system", 6)
    assert problem.causal.nodes == ("X", "Z", "Y")
    assert [[d.name for d in dos] for dos in problem.causal.sets] == [["X"], ["Z"], []]
    assert gs.Problem(minimize=problem.objective).causal is None


def test_objective_and_constraints_are_averages_of_the_models_formulas_over_the_runs():
    model, x, z, y = chain_model()
    formula = np.exp(y / 10) + x * z
    model = gs.Problem(maximize=formula, subject_to=[z >= x - 3, y <= 2])
    problem = gs.causal_problem(model, [gs.do(z, lower=-1, upper=4)], runs=2)
    assert [v.name for v in problem.variables] == ["Z"]  # one set needs no number
    runs = {"X": [1.0, 2.0], "Z": [0.5, 0.5], "Y": [4.0, -1.0]}
    order = problem.causal.nodes
    flat = torch.tensor([[runs[name][i] for i in range(2) for name in order]], dtype=torch.float64)
    outputs = problem.program.run(torch.tensor([[0.5]]).double(), lambda call, states: flat)
    a, b, c = (np.array(runs[name]) for name in "XZY")
    assert outputs[0].item() == pytest.approx(-np.mean(np.exp(c / 10) + a * b))
    assert outputs[1].item() == pytest.approx(np.mean(a - 3 - b))
    assert outputs[2].item() == pytest.approx(np.mean(c) - 2)


def test_reading_and_designing_are_inverse():
    problem, _ = three_sets()
    causal = problem.causal
    x = causal.design(1, np.array([2.5]))
    assert x.tolist() == [1.0, 0.0, 2.5]  # X is not part of the set: mid-range
    assert causal.read(x)[0] == 1
    assert causal.read(x)[1].tolist() == [2.5]
    assert causal.describe(x) == {"Z": 2.5}
    assert causal.describe(np.array([-0.4, 3.0, 1.0])) == {"X": 3.0}
    assert causal.describe(causal.design(2, np.zeros(0))) == {}
    assert causal.intervened(2) is causal.model


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


def test_a_system_that_cannot_be_asked_is_refused_at_once():
    model, x, _, _ = chain_model()
    sets = [gs.do(x, lower=0, upper=1)]
    with pytest.raises(gs.ModelError, match=r"system=5\): pass a function \(values, generator\)"):
        gs.causal_problem(model, sets, system=5)
    with pytest.raises(
        gs.ModelError, match=r"system is <lambda>\(values\), too many .*: pass a function"
    ):
        gs.causal_problem(model, sets, system=lambda values: {})


# --- what rows say about mechanisms --------------------------------------------------------------
def test_inputs_of_mechanisms_are_read_off_rows_through_known_parts():
    x = gs.exogenous(name="X")
    z = mechanism(None, "Z")(np.exp(x), 2.0)
    y = mechanism(None, "Y")(np.stack([z, z * x]))
    rows = {"X": [0.0, 1.0], "Z": [3.0, 4.0], "Y": [5.0, 6.0]}
    problem = gs.causal_problem(
        gs.Problem(minimize=y),
        [gs.do(z, lower=0, upper=1)],
        system=lambda values, generator: {},
        observations=pd.DataFrame(rows),
    )
    found = {name: (i.tolist(), o.tolist()) for name, i, o in problem.causal.observed()}
    assert found["X"] == ([[], []], [[0.0], [1.0]])
    assert found["Z"] == ([[1.0, 2.0], [pytest.approx(np.e), 2.0]], [[3.0], [4.0]])
    assert found["Y"] == ([[3.0, 0.0], [4.0, 4.0]], [[5.0], [6.0]])
    under_z = problem.causal.mechanism_data(0, {k: np.array(v) for k, v in rows.items()})
    assert [name for name, _, _ in under_z] == ["X", "Y"]


def test_rows_tell_nothing_of_what_reads_a_natural_value_that_was_not_seen():
    b = gs.exogenous(name="B")
    c = mechanism(None, "C")(b)
    y = mechanism(None, "Y")(c, gs.natural(b))
    sets = [gs.do(b, lower=0, upper=1), gs.do(c, lower=0, upper=1)]
    problem = gs.causal_problem(gs.Problem(minimize=y), sets, system=lambda values, generator: {})
    rows = {name: np.array([1.0, 2.0]) for name in "BCY"}
    causal = problem.causal
    assert [d[0] for d in causal.mechanism_data(0, rows)] == ["C"]
    assert sorted(d[0] for d in causal.mechanism_data(1, rows)) == ["B", "Y"]
    assert causal.observed() == ()


def test_a_cause_of_what_is_read_as_natural_cannot_be_set():
    a = gs.exogenous(name="A")
    b = mechanism(None, "B")(a)
    y = mechanism(None, "Y")(b, gs.natural(b))
    with pytest.raises(gs.ModelError, match=r"set 0 sets 'A', a cause of 'B', .* leave 'A' out"):
        gs.causal_problem(
            gs.Problem(minimize=y), [gs.do(a, lower=0, upper=1)], system=lambda v, g: {}
        )


# --- what is refused -----------------------------------------------------------------------------
def test_models_that_are_no_causal_models_are_refused():
    x = gs.exogenous(lambda: 0.0, name="X", noise=1.0)
    set_x = gs.do(x, lower=0, upper=1)

    def build(y, **options):
        gs.causal_problem(gs.Problem(minimize=y), [set_x], **options)

    with pytest.raises(gs.ModelError, match=r"'Y' has observation noise: .* process_noise=True"):
        build(gs.BlackBox(lambda x: x, name="Y", noise=1.0)(x))
    box = mechanism(lambda x: x, "Y")
    with pytest.raises(gs.ModelError, match="'Y' is called twice"):
        build(box(x) + box(x + 1))
    with pytest.raises(gs.ModelError, match="'Y' has 2 outputs: a variable of a system is one"):
        build(np.sum(gs.BlackBox(None, name="Y", outputs=2, process_noise=True)(x)))
    with pytest.raises(gs.ModelError, match="'Y' has no noise, so the system cannot be simulated"):
        build(mechanism(lambda x: x, "Y", noise=None)(x))
    with pytest.raises(gs.ModelError, match=r"'Y' has no function \(fn=None\), so the system"):
        build(mechanism(None, "Y")(x))
    with pytest.raises(gs.ModelError, match=r"'Y' has timeout=5: .* leave timeout= out"):
        build(mechanism(lambda x: x, "Y", timeout=5)(x))
    with pytest.raises(gs.ModelError, match=r"natural\(X\(\)\) reads natural"):
        build(gs.natural(x))
    with pytest.raises(gs.ModelError, match="variable 'X' has the name of something else"):
        build(x + gs.Variable("X", lower=0, upper=1))
    with pytest.raises(gs.ModelError, match=r"runs=0\): a whole number"):
        build(x, runs=0)
    with pytest.raises(gs.ModelError, match=r"seed=-1\): a whole number"):
        build(x, seed=-1)


def test_sets_that_are_none_are_refused():
    model, x, z, _ = chain_model()
    for wrong in ([], gs.do(x, lower=0, upper=1), 3):
        with pytest.raises(gs.ModelError, match="pass a list of sets"):
            gs.causal_problem(model, wrong)
    with pytest.raises(gs.ModelError, match="set 0 holds Z"):
        gs.causal_problem(model, [[z]])
    with pytest.raises(gs.ModelError, match="nothing to choose"):
        gs.causal_problem(model, [[]])
    narrow, wide = gs.do(x, lower=0, upper=1), gs.do(x, lower=0, upper=2)
    with pytest.raises(gs.ModelError, match=r"'X' is set between 0 and 1 .* 0 and 2 in set 1"):
        gs.causal_problem(model, [narrow, [wide, gs.do(z, lower=0, upper=1)]])


def test_observations_need_every_variable_and_numbers():
    model, x, _, _ = chain_model()
    sets = [gs.do(x, lower=0, upper=1)]
    with pytest.raises(gs.ModelError, match=r"no column 'Y': .* they have 'X', 'Z'"):
        gs.causal_problem(model, sets, observations={"X": [1.0], "Z": [2.0]})
    with pytest.raises(gs.ModelError, match=r"column 'Z' of shape \(1,\): pass 2 rows"):
        gs.causal_problem(model, sets, observations={"X": [1.0, 2], "Z": [2.0], "Y": [1, 2]})
    for wrong in ([{"X": 1.0, "Z": 2.0, "Y": 3.0}], np.ones((2, 3)), "rows.csv", 5):
        kind = type(wrong).__name__
        with pytest.raises(gs.ModelError, match=f"observations are a {kind}: pass a dictionary"):
            gs.causal_problem(model, sets, observations=wrong)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, np.nan], "'Y' with NaN in row 1: every number must be finite; leave rows out"),
        ([np.inf, 1.0], "'Y' with an infinite number in row 0"),
        (3.0, "'Y' that is one number, 3: pass a list"),
        ([1.0, "high"], "'Y' that holds 'high': pass numbers"),
        (["1", "2"], "'Y' that holds '1': pass numbers"),
        ("high", "'Y' that holds 'high': pass numbers"),
        ([[1.0, 2.0], [1.0, 2.0]], r"'Y' of shape \(2, 2\): pass 2 rows, .* of 1 number each"),
        ([[1.0], [1.0, 2.0]], "'Y' that holds .*: pass numbers"),
    ],
)
def test_a_column_of_observations_without_numbers_is_refused(column, message):
    model, x, _, _ = chain_model()
    rows = {"X": [1.0, 2.0], "Z": [2.0, 3.0], "Y": column}
    with pytest.raises(gs.ModelError, match=f"observations have a column {message}"):
        gs.causal_problem(model, [gs.do(x, lower=0, upper=1)], observations=rows)


def test_observations_of_the_models_own_variables_have_a_row_for_each():
    model, x, _, _ = chain_model()
    u = gs.Variable("u", 2, lower=0, upper=1)
    model = gs.Problem(minimize=model.objective + np.sum(u))
    rows = {name: [1.0, 2.0] for name in "XZY"}
    sets = [gs.do(x, lower=0, upper=1)]
    with pytest.raises(gs.ModelError, match=r"'u' of shape \(2,\): .* of 2 numbers each"):
        gs.causal_problem(model, sets, observations={**rows, "u": [0.1, 0.2]})
    problem = gs.causal_problem(model, sets, observations={**rows, "u": [[0.1, 0.2], [0.3, 0.4]]})
    assert problem.causal.observations["u"].tolist() == [[0.1, 0.2], [0.3, 0.4]]


# --- fingerprints --------------------------------------------------------------------------------
def test_the_fingerprint_knows_sets_data_and_mechanisms():
    model, x, z, _ = chain_model()
    rows = {name: [1.0, 2.0] for name in "XZY"}

    def lines(sets, **options):
        return fingerprint(gs.causal_problem(model, sets, **options))

    set_x, set_z = gs.do(x, lower=0, upper=1), gs.do(z, lower=0, upper=1)
    plain = lines([set_x, set_z])
    assert "intervention 1: Z" in plain
    assert "model: @2 = black box Z(@1)" in plain
    assert plain == lines([gs.do(x, lower=0, upper=1), set_z])
    for other in (lines([set_z, set_x]), lines([set_x, set_z], observations=rows)):
        assert other != plain
