"""Exogenous variables, natural values, do and intervene."""

from __future__ import annotations

import pickle

import cloudpickle
import pytest
import torch

import grisaille as gs
from grisaille.language.causal.do_operator import is_natural
from tests.language.causal.causal_helpers import chain_model, mechanism


def run(problem, point, answers):
    def resolve(call, states):
        return answers[call.box.name](*states.T).reshape(-1, 1)

    return problem.program.run(torch.tensor([point], dtype=torch.float64), resolve)


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


def test_an_exogenous_variable_with_a_cause_is_refused_when_it_is_declared():
    with pytest.raises(
        gs.ModelError, match=r"'X' has the function <lambda>\(a\), missing .* no arguments"
    ):
        gs.exogenous(lambda a: 0.0, name="X")


@pytest.mark.parametrize("noise", [0, 0.0, [0.0]])
def test_an_exogenous_variable_without_a_disturbance_is_refused(noise):
    with pytest.raises(gs.ModelError, match=r"exogenous variable 'X' has noise=.*None to learn it"):
        gs.exogenous(name="X", noise=noise)


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
