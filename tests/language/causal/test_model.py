"""What a causal model reads off points and rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import grisaille as gs
from grisaille.language.fingerprint import fingerprint
from tests.language.causal.causal_helpers import chain_model, mechanism, three_sets


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
