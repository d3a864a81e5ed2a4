import numpy as np
import pytest

import grisaille as gs
from tests.study.study_helpers import QUICK, parabola

pytestmark = pytest.mark.slow


def chain_that_leaves_a_range(called):
    """The outer box accepts at most 1, beyond which it would be better; the optimum is -1 at 1."""
    x = gs.Variable("x", lower=-2, upper=2)

    def outer(y):
        called.append(y)
        return -y if y <= 1 else -10 * y

    inner = gs.BlackBox(lambda x: x + 0.1 * x**2, name="inner", noise=0)
    last = gs.BlackBox(outer, name="outer", noise=0, input_upper=1)
    return gs.Problem(minimize=last(inner(x)))


def test_a_black_box_is_never_evaluated_at_inputs_that_it_does_not_accept():
    called = []
    problem = chain_that_leaves_a_range(called)
    result = problem.solve(9, strategy=QUICK, progress=False)
    assert max(called) <= 1 + 1e-9
    assert any(
        "outside the range [-inf, 1] of inputs that it accepts" in f.reason for f in result.failures
    )
    assert result.fun == pytest.approx(-1, abs=0.1)
    assert result.lower_bound <= -1 + 1e-9


def test_a_query_outside_the_accepted_range_fails_before_anyone_gets_it():
    x = gs.Variable("x", lower=2, upper=3)
    first = gs.BlackBox(None, name="first", noise=0)
    second = gs.BlackBox(None, name="second", noise=0, input_lower=[0.0, -np.inf])
    study = gs.Study(gs.Problem(minimize=second(first(x), x)), strategy=QUICK)
    (query,) = study.ask()
    study.tell(query, -0.5)
    (trial,) = study.state.trials.values()
    assert trial.state == "broken"
    assert trial.reason.startswith("the chain reaches black box 'second' at -0.5, ")
    (failure,) = study.result().failures
    assert failure.box == "second"
    (query,) = study.ask()
    study.tell(query, -1e-12)
    (query,) = study.ask()
    assert query.box == "second"  # rounding is no contradiction


def test_a_noisy_answer_just_outside_the_declared_range_is_kept_as_it_is():
    study = gs.Study(parabola(noise=None, lower=0, upper=1), strategy=QUICK)
    for value in (-0.09, 1.09):
        (query,) = study.ask()
        study.tell(query, value)
    assert [t.chain[0] for t in study.result().history] == [-0.09, 1.09]
    (query,) = study.ask()
    with pytest.raises(gs.AssumptionError, match=r"more than noise is likely to: widen .* noise="):
        study.tell(query, 1.2)


def test_with_one_end_declared_answers_outside_are_compared_with_the_spread_of_the_others():
    study = gs.Study(parabola(noise=None, lower=0), strategy=QUICK)
    study.observe("f", [0.0, 1.0], [1.0, -0.1])  # one answer has no spread
    study.observe("f", [0.5], [-0.1])
    with pytest.raises(gs.AssumptionError, match=r"outside the range \[0, inf\]"):
        study.observe("f", [0.5], [-0.2])


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_only_a_black_box_without_noise_stays_inside_its_declared_range(noise):
    study = gs.Study(parabola(noise=noise, lower=0, upper=1), strategy=QUICK)
    if noise:
        assert study.observe("f", [0.5], [-0.2]) == 1
    else:
        with pytest.raises(gs.AssumptionError, match=r"it was declared with: widen"):
            study.observe("f", [0.5], [-1e-6])
