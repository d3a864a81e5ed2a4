"""Building the problem over interventions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.language.fingerprint import fingerprint
from tests.language.causal.causal_helpers import chain_model, mechanism, three_sets


def test_it_is_an_ordinary_problem_with_one_black_box():
    problem, _ = three_sets(runs=2)
    assert [v.name for v in problem.variables] == ["intervention", "X", "Z"]
    (box,) = problem.boxes
    assert (box.name, box.outputs) == ("system", 6)
    assert problem.causal.nodes == ("X", "Z", "Y")
    assert [[d.name for d in dos] for dos in problem.causal.sets] == [["X"], ["Z"], []]
    assert gs.Problem(minimize=problem.objective).causal is None


def test_a_problem_and_its_black_boxes_cannot_be_changed_after_they_are_built():
    problem, _ = three_sets()
    with pytest.raises(AttributeError):
        problem.causal = None
    with pytest.raises(AttributeError):
        problem.boxes[0].argument_shapes = ()


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


def test_a_system_that_cannot_be_asked_is_refused_at_once():
    model, x, _, _ = chain_model()
    sets = [gs.do(x, lower=0, upper=1)]
    with pytest.raises(gs.ModelError, match=r"system=5\): pass a function \(values, generator\)"):
        gs.causal_problem(model, sets, system=5)
    with pytest.raises(
        gs.ModelError, match=r"system is <lambda>\(values\), too many .*: pass a function"
    ):
        gs.causal_problem(model, sets, system=lambda values: {})


def test_a_cause_of_what_is_read_as_natural_cannot_be_set():
    a = gs.exogenous(name="A")
    b = mechanism(None, "B")(a)
    y = mechanism(None, "Y")(b, gs.natural(b))
    with pytest.raises(gs.ModelError, match=r"set 0 sets 'A', a cause of 'B', .* leave 'A' out"):
        gs.causal_problem(
            gs.Problem(minimize=y), [gs.do(a, lower=0, upper=1)], system=lambda v, g: {}
        )


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
    for options, named in (({"step": 0.1}, "step="), ({"log": True}, "log=True")):
        own = gs.Variable("own", lower=1, upper=2, **options)
        with pytest.raises(gs.ModelError, match=f"variable 'own' has {named}, .* leave it out"):
            build(mechanism(lambda x, o: x, "Y")(x, own))
    with pytest.raises(gs.ModelError, match="variable 'X' has the name of something else"):
        build(x + gs.Variable("X", lower=0, upper=1))
    with pytest.raises(gs.ModelError, match=r"runs=0\): pass a whole number"):
        build(x, runs=0)
    with pytest.raises(gs.ModelError, match=r"seed=-1\): a seed is a whole number"):
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
        ([1.0, True], "'Y' that holds True: pass numbers"),
        (np.ma.array([1.0, 1e37], mask=[0, 1]), "'Y' that holds masked_array.*: pass numbers"),
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
