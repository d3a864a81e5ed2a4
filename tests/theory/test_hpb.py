"""Lemma hpb and Observation feas: the true chain is plausible, so x* stays feasible."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.rules import plausible_set
from grisaille.records import History
from tests.theory.theory_helpers import KERNELS, KnownNorm, box, true_outputs, truth

pytestmark = pytest.mark.slow


KERNEL = KERNELS["squared exponential"]


def nested(seed, noise=0.0):
    """outer(inner(x1, x2)^2) with a constraint on the inner box."""
    generator = np.random.default_rng(seed)
    x = gs.Variable("x", 2, lower=-1, upper=1)
    inner = box(KnownNorm(KERNEL, 1.5, generator, 2, noise=noise), "inner", 1.5)
    outer = box(
        KnownNorm(KERNEL, 1.0, generator, 1, noise=noise, width=2.0),
        "outer",
        1.0,
        input_lower=0,
        input_upper=2.25,
    )
    y = inner(x)
    return gs.Problem(minimize=outer(y**2) + 0.1 * x[0], subject_to=[y <= 0.5])


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("theory", [gs.Theory(horizon=8), gs.Theory()], ids=["horizon", "doubling"])
def test_the_true_chain_is_plausible_before_every_trial(theory, noise):
    strategy = gs.Optimistic(beta=theory, solver=gs.MultiStart(starts=4, samples=256))
    for seed in range(3):
        problem = nested(seed, noise)
        history = problem.solve(8, strategy=strategy, seed=seed, progress=False).history
        points = np.random.default_rng(seed).uniform(-1, 1, (60, 2))
        for trials in range(len(history) + 1):
            plausible = plausible_set(problem.program, History(history.trials[:trials]), theory)
            outside = []

            def check(call, states, plausible=plausible, outside=outside):
                lower, upper = plausible.band(call, states)
                value = truth(call, states)
                outside.append(((value < lower - 1e-9) | (value > upper + 1e-9)).any())
                return value

            with torch.no_grad():
                problem.program.run(torch.tensor(points), check)
            assert len(outside) == 2
            assert not any(outside)


def test_a_plausible_point_reproduces_the_true_outputs():
    problem = nested(0)
    theory = gs.Theory(horizon=6)
    strategy = gs.Optimistic(beta=theory, solver=gs.MultiStart(starts=4, samples=256))
    history = problem.solve(6, strategy=strategy, progress=False).history
    plausible = plausible_set(problem.program, history, theory)
    for x in np.random.default_rng(1).uniform(-1, 1, (20, 2)):
        chain = []

        def record(call, states, chain=chain):
            chain.append(truth(call, states)[0].numpy())
            return truth(call, states)

        problem.program.run(torch.tensor(x[None]), record)
        point = plausible.locate(x, np.concatenate(chain))
        objective, constraints = plausible.evaluate(point[None])
        outputs = np.append(objective.numpy(), constraints.numpy())
        assert outputs == pytest.approx(true_outputs(problem, x[None])[0], abs=1e-9)
