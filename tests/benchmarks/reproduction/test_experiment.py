"""One run of the experiment: what is run, and what is measured."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reproduction.experiment import Job, Method, Setting

from benchmarks.reproduction import experiment
from grisaille.lab.problems.paper_examples import KERNEL, lp_with_embedded_gp
from grisaille.records import Suggestion, TrialKind
from grisaille.study.writer import evaluated

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("setting", Setting)
@pytest.mark.parametrize("method", Method)
def test_a_run_is_measured_by_the_true_functions(monkeypatch, setting, method):
    monkeypatch.setattr(experiment, "STEPS", 3)
    curve = experiment.run(Job(setting, 0, method))
    known = lp_with_embedded_gp(0)
    result = lp_with_embedded_gp(
        0,
        learn=setting is Setting.LEARNED,
        noise=0.05 if setting is Setting.NOISY else 0.0,
    ).problem.solve(
        3, strategy=experiment.strategy(Job(setting, 0, method)), seed=0, progress=False
    )
    for t, trial in enumerate(result.history):
        suggestion = Suggestion(TrialKind.OPTIMISTIC, trial.x)
        truth = evaluated(known.problem, suggestion, 1)  # the same instance without noise
        assert curve.positive_regret[t] == pytest.approx(max(truth.objective - known.optimum, 0))
        assert curve.violations[t] == pytest.approx(np.maximum(truth.constraints, 0))


def test_both_methods_differ_in_nothing_but_what_they_know():
    ours = experiment.strategy(Job(Setting.EXACT, 0, Method.OURS))
    config = experiment.strategy(Job(Setting.EXACT, 0, Method.CONFIG))
    for name in ("beta", "solver", "initial", "exploit"):
        assert getattr(ours, name) == getattr(config, name)
    assert config.kernel == KERNEL
    learned = experiment.strategy(Job(Setting.LEARNED, 0, Method.CONFIG))
    assert learned.kernel is None
