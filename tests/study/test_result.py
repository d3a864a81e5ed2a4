"""What a result says about the run it comes from."""

from __future__ import annotations

import pytest

import grisaille as gs
from grisaille.belief.audit import Audited
from grisaille.lab.comparison.comparison import SameStart

pytestmark = pytest.mark.slow


def test_a_certificate_is_for_the_bands_of_the_strategy_inside_a_wrapper():
    x = gs.Variable("x", lower=-1, upper=1)
    kernel = gs.SquaredExponential(lengthscale=1.0, variance=1.0)
    f = gs.BlackBox(lambda x: x, name="f", noise=0, kernel=kernel)
    problem = gs.Problem(minimize=x, subject_to=[f(x) <= -30])
    strategy = SameStart(gs.Optimistic(beta=3.0), 1)  # has no beta of its own
    result = problem.solve(8, strategy=strategy, progress=False)
    assert result.status == "likely_infeasible"
    assert result.certificate.beta == Audited(3.0, widening=2.0, margin=1.0, confidence=0.95)
    assert result.certificate.verify()
