"""EI-FN does what it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks.histories import sobol_history
from benchmarks.references.botorch_search import SearchEffort, repeatable
from benchmarks.references.function_networks import (
    Acquisition,
    NetworkImprovement,
    NetworkSampler,
    fitted_box,
    suggest_network,
)
from botorch.models import SingleTaskGP
from botorch.utils.sampling import draw_sobol_normal_samples
from torch import Tensor

import grisaille as gs
from grisaille.language.problem import Problem
from grisaille.records import History

pytestmark = pytest.mark.slow


LIGHT = SearchEffort(restarts=1, raw_samples=8)


def two_nodes() -> Problem:
    x = gs.Variable("x", 2, lower=-2, upper=2)
    inner = gs.BlackBox(lambda a, b: np.sin(2 * a) + b, name="inner", noise=0)
    outer = gs.BlackBox(lambda y, b: np.cos(2 * y) + b**2 / 4, name="outer", noise=0)
    return Problem(minimize=outer(inner(x[0], x[1]) ** 2, x[1]) + 0.1 * x[0])


@pytest.fixture(scope="module")
def problem() -> Problem:
    return two_nodes()


@pytest.fixture(scope="module")
def history(problem: Problem) -> History:
    return sobol_history(problem, 12, seed=0)


@pytest.fixture(scope="module")
def models(problem: Problem, history: History) -> dict[str, SingleTaskGP]:
    with repeatable(0):
        return {box.name: fitted_box(box, history) for box in problem.boxes}


def direct_draws(models: dict[str, SingleTaskGP], point: list[float], count: int) -> Tensor:
    """The two-node network drawn by hand, with independent pseudo-random numbers."""
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.full((count, 1), value, dtype=torch.float64) for value in point)

    def answer(name: str, *states: Tensor) -> Tensor:
        with torch.no_grad():
            posterior = models[name].posterior(torch.cat(states, 1).unsqueeze(1))
        deviation = posterior.variance.squeeze(1).sqrt()
        noise = torch.randn(count, 1, generator=generator, dtype=torch.float64)
        return posterior.mean.squeeze(1) + deviation * noise

    return (answer("outer", answer("inner", a, b) ** 2, b) + 0.1 * a)[:, 0]


@pytest.mark.parametrize("point", [[0.3, -0.7], [1.9, 1.8], [-1.0, 0.2]])
def test_sampled_network_agrees_with_direct_monte_carlo(
    problem: Problem, models: dict[str, SingleTaskGP], point: list[float]
) -> None:
    base = draw_sobol_normal_samples(2, 2048, dtype=torch.float64, seed=0)
    sampler = NetworkSampler(problem.program, models, base)
    design = torch.tensor([[0.0, 0.0], point], dtype=torch.float64)
    with torch.no_grad():
        samples = sampler.draw(design)[:, 1]
    direct = direct_draws(models, point, 10_000)
    assert samples.std() > 1e-3  # the model is unsure there, or the test would show nothing
    # Quasi-random samples are counted as random ones: their true error is smaller.
    error = (direct.var() / len(direct) + samples.var() / len(samples)).sqrt()
    assert abs(samples.mean() - direct.mean()) < 4 * error
    assert float(samples.std()) == pytest.approx(float(direct.std()), rel=0.1)

    best = float(direct.median())
    with torch.no_grad():
        improvement = NetworkImprovement(sampler, best)(design[1:].unsqueeze(1))
    assert float(improvement) == pytest.approx(float((best - direct).clamp_min(0).mean()), rel=0.1)


def test_logarithmic_improvement_is_the_logarithm_of_the_improvement(
    problem: Problem, models: dict[str, SingleTaskGP]
) -> None:
    base = draw_sobol_normal_samples(2, 128, dtype=torch.float64, seed=0)
    sampler = NetworkSampler(problem.program, models, base)
    design = torch.tensor([[[0.3, -0.7]], [[1.9, 1.8]]], dtype=torch.float64)
    best = float(sampler.draw(design.squeeze(1)).detach().max())
    plain = NetworkImprovement(sampler, best)(design)
    logarithm = NetworkImprovement(sampler, best, logarithmic=True)(design)
    assert (plain > 0).all()
    torch.testing.assert_close(logarithm.exp(), plain, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("acquisition", Acquisition)
def test_network_suggestion_lies_in_bounds_and_repeats(
    problem: Problem, history: History, acquisition: Acquisition
) -> None:
    first, second = (
        suggest_network(problem, history, seed=3, samples=16, acquisition=acquisition, effort=LIGHT)
        for _ in range(2)
    )
    assert first.shape == (2,)
    assert ((first >= problem.program.lower) & (first <= problem.program.upper)).all()
    np.testing.assert_array_equal(first, second)


def test_network_reference_refuses_constraints() -> None:
    x = gs.Variable("x", lower=0, upper=1)
    constrained = Problem(minimize=x, subject_to=[x >= 0.5])
    with pytest.raises(ValueError, match="EI-FN knows no constraints"):
        suggest_network(constrained, History())
