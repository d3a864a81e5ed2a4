"""Controls: few numbers move many outputs inside their bands."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.predictions import Predictor
from grisaille.belief.rules import plausible_set
from grisaille.belief.sampled_network import SampledNetwork, normal_samples
from tests.belief.belief_helpers import history_at

TIMES = np.linspace(0, 1, 60)
POINTS = np.random.default_rng(0).random((9, 2))


def curve(x):
    return np.sin(3 * x[0] + 2 * TIMES) * np.exp(-x[1] * TIMES)


def problem(**options) -> tuple[gs.Problem, gs.BlackBox]:
    x = gs.Variable("x", 2, lower=0, upper=1)
    options = {"noise": 0, "shared_kernel": True, **options}
    box = gs.BlackBox(curve, name="curve", outputs=60, **options)
    other = gs.BlackBox(lambda x: x[0] * x[1], name="other", noise=0)
    y = box(x)
    return gs.Problem(minimize=np.sum(y**2) + other(x), subject_to=[np.max(y) <= 0.9]), box


def plausible(**options) -> PlausibleSet:
    made, _ = problem(**options)
    return plausible_set(made.program, history_at(made, POINTS), 2.0)


def random_points(found: PlausibleSet, count: int) -> torch.Tensor:
    unit = torch.rand(
        count, len(found.lower), dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    return found.lower + (found.upper - found.lower) * unit


def test_a_search_moves_few_numbers_and_every_output_stays_in_its_band():
    found = plausible(lower=-0.5)
    assert found.controls.count <= 9
    assert len(found.lower) == 2 + found.controls.count
    for point in random_points(found, 20):
        states, outputs = found.trace(point)
        for call, state in zip(found.program.calls, states, strict=True):
            low, high = found.band(call, torch.tensor(state).unsqueeze(0))
            own = torch.tensor(outputs[call.columns])
            assert (own >= low[0] - 1e-12).all()
            assert (own <= high[0] + 1e-12).all()
    assert outputs[:60].min() >= -0.5


def test_every_output_can_reach_both_ends_of_its_band():
    found = plausible()
    patterns = found.beliefs["curve"].patterns
    controls = torch.zeros(60, found.controls.count, dtype=torch.float64)
    columns = found.controls.columns[0]
    controls[:, columns] = patterns.sign()
    eta = found.controls.eta(controls)[:, :60]
    assert torch.allclose(eta.diagonal(), torch.ones(60, dtype=torch.float64))
    assert torch.allclose(found.controls.eta(-controls)[:, :60].diagonal(), -eta.diagonal())


def test_a_point_is_located_by_its_outputs():
    found = plausible()
    point = random_points(found, 1)[0]
    point[2:] *= 0.2  # no output at the end of its band
    _, outputs = found.trace(point)
    again = found.locate(found.program.space.design(point[:2]), outputs)
    assert torch.allclose(again, point, atol=1e-6)


def test_points_are_worth_the_same_in_one_batch_and_one_by_one():
    found = plausible()
    points = random_points(found, 300)
    with torch.no_grad():
        together = found.evaluate(points.repeat(20, 1))  # more than are evaluated at once
    alone = found.evaluate(points.requires_grad_(True))
    for ours, theirs in zip(together, alone, strict=True):
        assert torch.allclose(ours[:300], theirs.detach(), rtol=1e-10)
    assert found.controls.at_once(6000) < 6000


def test_without_a_shared_kernel_controls_are_the_eta():
    found = plausible(shared_kernel=False)
    assert found.controls.is_plain
    assert found.controls.count == found.program.box_outputs == 61
    eta = torch.rand(3, 61, dtype=torch.float64)
    assert found.controls.eta(eta) is eta
    assert found.controls.closest(eta) is eta
    assert found.controls.at_once(10_000) == 10_000


def test_the_interval_of_a_curve_is_its_band_and_single_outputs_agree_with_it():
    made, box = problem()
    history = history_at(made, POINTS)
    predictor = Predictor(made, history)
    y, x = box(made.variables[0]), np.array([[0.2, 0.3], POINTS[0]])
    whole = predictor.predict([y], x)
    some = predictor.predict([y[7], y[40]], x)
    assert whole.mean.shape == (2, 60)
    for ours, theirs in ((whole.lower, some.lower), (whole.upper, some.upper)):
        assert ours[:, [7, 40]] == pytest.approx(theirs, abs=1e-6)
    assert whole.lower[1] == pytest.approx(curve(POINTS[0]), abs=1e-9)
    assert whole.upper[1] == pytest.approx(curve(POINTS[0]), abs=1e-9)


def test_draws_of_a_curve_vary_as_much_as_predicted_and_together():
    made, _ = problem()
    history = history_at(made, POINTS)
    beliefs = plausible_set(made.program, history, 2.0).beliefs
    normal = normal_samples(made.program, 512, 0)
    network = SampledNetwork(made.program, beliefs, normal)
    drawn = network._normal(made.program.calls[0])
    assert drawn.std(0).numpy() == pytest.approx(np.ones(60), rel=0.1)
    correlation = np.corrcoef(drawn[:, :2].T.numpy())[0, 1]
    assert correlation > 0.9  # neighbours on the curve
    with torch.no_grad():
        objective, constraints = network.draw(torch.rand(200, 2, dtype=torch.float64))
    assert objective.shape == (512, 200)
    assert constraints.shape == (512, 200, 1)
