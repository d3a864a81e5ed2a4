"""Expected improvement of composites and networks, against independent calculations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.learning import believe
from grisaille.belief.processes.posterior import LEAST_NOISE
from grisaille.belief.sampled_network import SampledNetwork, normal_samples
from grisaille.records import TrialKind
from tests.strategies.strategy_helpers import after, composite, constrained, grid, network

pytestmark = pytest.mark.slow


def _botorch_model(inputs, outputs):
    """A BoTorch model with some hyper-parameters, none of them fitted."""
    from botorch.models import SingleTaskGP
    from botorch.settings import validate_input_scaling

    noise = torch.full_like(outputs, 1e-6)
    with validate_input_scaling(False):  # it would like standardized outputs
        model = SingleTaskGP(inputs, outputs, train_Yvar=noise, outcome_transform=None)
    return model.eval()


@pytest.mark.filterwarnings("ignore:qExpectedImprovement has known numerical issues")
def test_the_value_of_eicf_is_that_of_botorchs_monte_carlo_improvement():
    from botorch.acquisition import qExpectedImprovement
    from botorch.acquisition.objective import GenericMCObjective
    from botorch.sampling import SobolQMCNormalSampler

    x = gs.Variable("x", 2, lower=0, upper=1)
    h = gs.BlackBox(
        lambda x: np.array([np.sin(5 * x[0]), x[0] * x[1], x[1] ** 2]),
        name="h",
        outputs=3,
        noise=0,
        model=_botorch_model,
    )
    y = h(x)
    problem = gs.Problem(minimize=(y[0] - 0.4) ** 2 + np.exp(y[1]) * y[2] - 0.5 * x[0])
    situation = after(problem, 6)
    ours = gs.EICF(samples=64).acquisition(Knowledge(situation))

    inputs, outputs = (torch.tensor(a) for a in situation.history.data("h", 2, 3))
    model = _botorch_model(inputs, outputs)

    def objective(samples, X):  # noqa: N803 (BoTorch's name)
        return -(
            (samples[..., 0] - 0.4) ** 2
            + samples[..., 1].exp() * samples[..., 2]
            - 0.5 * X.squeeze(-2)[..., 0].unsqueeze(-1)
        )

    sampler = SobolQMCNormalSampler(torch.Size([64]))
    sampler.base_samples = ours.network.normal.reshape(64, 1, 1, 3)
    best = max(-t.objective for t in situation.history)
    theirs = qExpectedImprovement(model, best, sampler, GenericMCObjective(objective))
    points = torch.tensor(grid(problem))
    # Theirs keeps base samples for one shape only, so it is asked point by point.
    values = torch.cat([theirs(p.reshape(1, 1, 2)) for p in points]).detach()
    assert (values > 0).any()
    assert ours.values(points).detach().numpy() == pytest.approx(values.numpy(), rel=1e-6, abs=1e-9)


def test_a_draw_goes_through_the_network_node_by_node():
    problem = network()
    situation = after(problem, 5)
    ours = gs.EIFN(samples=32).acquisition(Knowledge(situation))
    # By hand, one point and one sample at a time, with dense Gaussian process formulas.
    first_x, first_y = situation.history.data("first", 2, 1)
    second_x, second_y = situation.history.data("second", 2, 1)

    def kernel(a, b):
        return np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1) / 0.8**2)

    def posterior(inputs, outputs, state):
        gram = kernel(inputs, inputs) + 1e-8 * np.eye(len(inputs))
        cross = kernel(inputs, state[None])[:, 0]
        weights = np.linalg.solve(gram, cross)
        return weights @ outputs[:, 0], np.sqrt(max(1 - weights @ cross, 0))

    best = min(t.objective for t in situation.history)
    normal = ours.network.normal.numpy()
    for x in grid(problem, 3):
        improvements = []
        for w1, w2 in normal:
            mean, deviation = posterior(first_x, first_y, np.array([x[0] ** 2, x[1]]))
            y = mean + deviation * w1
            mean, deviation = posterior(second_x, second_y, np.array([2 * y - 1, x[0]]))
            value = (mean + deviation * w2) ** 2 + 0.2 * x[1]
            improvements.append(max(best - value, 0))
        value = float(ours.values(torch.tensor(x).unsqueeze(0)))
        assert value == pytest.approx(np.mean(improvements), rel=1e-5, abs=1e-7)


def test_eicf_equals_eifn_on_one_layer():
    situation = after(composite(), 6)
    points = torch.tensor(grid(situation.problem))
    first, second = (
        s.acquisition(Knowledge(situation)).values(points) for s in (gs.EICF(), gs.EIFN())
    )
    assert torch.equal(first, second)
    one, other = (s.suggest(situation) for s in (gs.EICF(), gs.EIFN()))
    assert one.x.tolist() == other.x.tolist()
    assert one.kind is TrialKind.ACQUIRED


def test_calls_of_one_black_box_are_drawn_as_one_function():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    kernel = gs.SquaredExponential(lengthscale=0.8, variance=1.0)
    h = gs.BlackBox(np.sin, name="h", noise=0, kernel=kernel)
    problem = gs.Problem(minimize=h(x[0]) - h(x[1]))
    situation = after(problem, 3)
    beliefs = believe(problem.program, situation.history)
    network = SampledNetwork(problem.program, beliefs, normal_samples(problem.program, 2048, 0))
    design = torch.tensor([[0.3, 0.3], [-0.9, -0.7], [0.1, 0.9]])
    draws, _ = network.draw(design)
    # Var[h(a) - h(b)] from the joint posterior, by hand.
    seen = situation.history.data("h", 1, 1)[0]

    def k(a, b):
        return np.exp(-0.5 * (a[:, None] - b[None]) ** 2 / 0.64)

    gram = k(seen[:, 0], seen[:, 0]) + LEAST_NOISE * np.eye(len(seen))
    for row, (a, b) in enumerate(design.numpy()):
        pair = np.array([a, b])
        cross = k(seen[:, 0], pair)
        covariance = k(pair, pair) - cross.T @ np.linalg.solve(gram, cross)
        variance = np.array([1, -1]) @ covariance @ np.array([1, -1])
        assert float(draws[:, row].var()) == pytest.approx(variance, rel=0.02, abs=1e-6)


def test_the_suggestion_has_the_greatest_improvement_of_a_fine_grid():
    for problem in (composite(), network()):
        situation = after(problem, 6)
        strategy = gs.EIFN(samples=64)
        improvement = strategy.acquisition(Knowledge(situation))
        best = float(improvement.values(torch.tensor(grid(problem, 61))).max())
        chosen = float(improvement.values(torch.tensor(strategy.suggest(situation).x)[None])[0])
        assert chosen >= 0.99 * best > 0


def test_with_constraints_the_improvement_counts_only_where_a_draw_is_feasible():
    situation = after(constrained(), 8)
    strategy = gs.EICF(samples=256)
    improvement = strategy.acquisition(Knowledge(situation))
    points = torch.tensor(grid(situation.problem))
    objective, constraints = improvement.network.draw(points)
    feasible = [t.objective for t in situation.history if t.violation == 0]
    by_hand = [
        np.mean(np.maximum(min(feasible) - f, 0) * (g <= 0).all(1))
        for f, g in zip(objective.T.numpy(), constraints.transpose(0, 1).numpy(), strict=True)
    ]
    assert improvement.values(points).numpy() == pytest.approx(np.array(by_hand))
    suggestion = strategy.suggest(situation)
    assert suggestion.x.sum() <= 0.5 + 1e-6  # the known constraint is kept, whatever it costs


def test_without_a_feasible_point_it_looks_for_one():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    kernel = gs.SquaredExponential(lengthscale=0.5, variance=1.0)
    h = gs.BlackBox(lambda x: x[0], name="h", noise=0, kernel=kernel)
    problem = gs.Problem(minimize=x[0], subject_to=[h(x) >= 0.99])
    situation = after(problem, 3)
    assert all(t.violation > 0 for t in situation.history)
    strategy = gs.EIFN()
    suggestion = strategy.suggest(situation)
    values = strategy.acquisition(Knowledge(situation)).values(
        torch.linspace(-1, 1, 201)[:, None].double()
    )
    chosen = strategy.acquisition(Knowledge(situation)).values(torch.tensor(suggestion.x)[None])
    assert float(chosen) >= 0.99 * float(values.max())


def test_eicf_refuses_nesting_and_names_what_to_use():
    with pytest.raises(gs.ModelError, match=r"'second' reads what another one gives: use gs.EIFN"):
        network().solve(3, strategy=gs.EICF(), progress=False)


@pytest.mark.parametrize("options", [{"samples": 0}, {"samples": 2.5}, {"initial": 0}])
def test_bad_options_are_refused_with_the_name_of_the_strategy(options):
    for make in (gs.EICF, gs.EIFN, gs.CUQB):
        with pytest.raises(gs.ModelError, match=rf"{make.__name__}\({next(iter(options))}="):
            make(**options)


def test_a_small_study_finds_the_optimum_of_a_network():
    problem = network(kernel=None)
    result = problem.solve(20, strategy=gs.EIFN(samples=32), evaluation="chained", progress=False)
    values = [_true_value(x) for x in grid(problem, 201)]
    assert result.fun <= min(values) + 0.02
    assert result.lower_bound == -np.inf


def _true_value(x):
    y = 2 * (np.sin(2 * x[0] ** 2) + x[1]) - 1
    return (y * np.cos(x[0])) ** 2 + 0.2 * x[1]
