"""Bounds over regions of bands that declarations cut."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.declared_intervals import DeclaredInterval, declared_intervals
from grisaille.belief.learning import believe
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.processes.minorants import Quadratics
from grisaille.belief.rules import plausible_set
from grisaille.language.enclosures.interval import Interval
from grisaille.proof.clipped_bands import center_and_half, cut
from grisaille.proof.relaxation import PlausibleRelaxation
from tests.belief.belief_helpers import history_at, random_design
from tests.proof.proof_helpers import black_box, bump, scalar, wave
from tests.proof.test_relaxation_regions import assert_sound


def interval_of(outputs=1, inputs=2, answers=5, seed=0, **options) -> DeclaredInterval:
    """The interval that random answers leave; they need not be consistent with each other."""
    box = gs.BlackBox(None, name="f", outputs=outputs, noise=0, **options)
    box(gs.Variable("x", inputs, lower=-1, upper=1))
    rng = np.random.default_rng(seed)
    points = torch.tensor(rng.uniform(-1, 1, (answers, inputs)))
    slopes = torch.tensor(rng.uniform(0, 1, (inputs, outputs)))
    return DeclaredInterval(box, points, points @ slopes)


def random_quadratics(outputs, regions, inputs, seed) -> Quadratics:
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return torch.tensor(rng.normal(size=shape))

    shape = (2, outputs, regions)
    return Quadratics(
        normal(*shape), normal(*shape, inputs), 3 * normal(*shape, inputs), torch.zeros(shape)
    )


@pytest.mark.parametrize(
    "options",
    [
        {"lipschitz": 1.5},
        {"monotone": "increasing"},
        {"monotone": ["increasing", None], "lipschitz": [1.0, 2.0]},
        {"monotone": [["increasing", "increasing"], ["increasing", None]], "outputs": 2},
    ],
    ids=["lipschitz", "monotone", "both", "outputs"],
)
def test_no_point_of_a_cut_band_is_below_its_bound(options):
    regions, samples = 300, 200
    for seed in range(4):
        interval = interval_of(seed=seed, **options)
        found = random_quadratics(options.get("outputs", 1), regions, 2, seed)
        rng = np.random.default_rng(seed)
        center = torch.tensor(rng.uniform(-1, 1, (regions, 2)))
        half = torch.tensor(
            10 ** rng.uniform(-4, 0, (regions, 1)) * rng.uniform(0, 1, (regions, 2))
        )
        bound = cut(found, interval, center, half, Interval(center - half, center + half))
        for _ in range(samples):
            step = torch.tensor(rng.uniform(-1, 1, (regions, 2)).clip(-0.9, 0.9) / 0.9) * half
            least, most = at(found, step)
            lower, upper = (end.T for end in interval.ends(center + step))
            truth = torch.stack([least.clamp(lower, upper), most.clamp(-upper, -lower)])
            assert (at(bound, step) <= truth + 1e-12).all()


def at(quadratics: Quadratics, step: torch.Tensor) -> torch.Tensor:
    terms = quadratics.slope * step + 0.5 * quadratics.curvature * step**2
    return quadratics.constant + terms.sum(-1)


def over(found: Quadratics, interval: DeclaredInterval, lower: float, upper: float) -> Quadratics:
    states = Interval(torch.tensor([[lower]]).double(), torch.tensor([[upper]]).double())
    return cut(found, interval, *center_and_half(states), states)


def test_an_answer_at_the_end_of_a_region_bounds_all_of_it():
    box = gs.BlackBox(None, name="f", noise=0, monotone="increasing")
    box(scalar())
    ends = torch.tensor([[0.1], [0.7]]).double()
    interval = DeclaredInterval(box, ends, torch.tensor([[3.0], [4.0]]).double())
    nothing = torch.zeros(2, 1, 1, 1).double()
    unknown = Quadratics(nothing[..., 0] - torch.inf, nothing, nothing, nothing[..., 0])
    assert over(unknown, interval, 0.1, 0.7).constant.ravel().tolist() == pytest.approx([3, -4])
    beyond = over(unknown, interval, np.nextafter(0.1, 0), np.nextafter(0.7, 1))
    assert beyond.constant.ravel().tolist() == [-np.inf, -np.inf]


def test_the_bound_of_a_region_without_an_answer_is_that_of_the_nearest_cone():
    box = gs.BlackBox(None, name="f", noise=0, lipschitz=2.0)
    box(scalar())
    interval = DeclaredInterval(box, torch.zeros(1, 1).double(), torch.full((1, 1), 5.0).double())
    nothing = torch.zeros(2, 1, 1, 1).double()
    unknown = Quadratics(nothing[..., 0] - torch.inf, nothing, nothing, nothing[..., 0])
    found = over(unknown, interval, 0.25, 0.75)
    assert found.constant[:, 0, 0].tolist() == pytest.approx([4.0, -6.0], rel=1e-6)
    assert found.slope[:, 0, 0, 0].tolist() == pytest.approx([-2.0, -2.0], rel=1e-6)


def declared_alone():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = bump("f", noise=0, lipschitz=2.5)
    g = black_box("g", lambda s: np.tanh(s), noise=0, monotone="increasing", lower=-1, upper=1)
    h = wave("h", noise=0, norm_bound=20.0)
    k = wave("k", lower=-1, upper=1)
    return gs.Problem(
        minimize=f(x) - g(f(x)) + h(x[0]), subject_to=[g(x[0]) * x[1] - f(x) + k(x[1]) <= 0.5]
    )


@pytest.mark.parametrize("observations", [1, 6, 15])
def test_no_plausible_point_is_below_the_bound_of_declared_bands(observations):
    problem = declared_alone()
    history = history_at(problem, random_design(problem, observations))
    plausible = plausible_set(problem.program, history, gs.Declared())
    with torch.no_grad():
        relaxation = PlausibleRelaxation(plausible)
    assert_sound(plausible, relaxation)


def test_states_without_bounds_leave_a_valid_bound():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = black_box("f", lambda s: s, noise=0, lipschitz=1.0, lower=-5.0)
    problem = gs.Problem(minimize=f(1 / x[0]) - f(x[0]))
    history = history_at(problem, [[0.5], [-0.7], [0.9]])
    for beta in (2.0, gs.Declared()):
        plausible = plausible_set(problem.program, history, beta)
        with torch.no_grad():
            assert_sound(plausible, PlausibleRelaxation(plausible))


def test_states_without_bounds_are_bounded_by_the_outermost_answer_of_a_poor_fit():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = black_box("f", lambda s: -10 + 0 * s, noise=0, lipschitz=1.0)
    problem = gs.Problem(minimize=f(1 / x[0]))
    history = history_at(problem, [[0.5]])
    beliefs = believe(problem.program, history, regularization=100.0)
    beta, intervals = {"f": torch.ones(1).double()}, declared_intervals(problem.program, history)
    plausible = PlausibleSet(problem.program, beliefs, beta, intervals)
    with torch.no_grad():
        assert_sound(plausible, PlausibleRelaxation(plausible))
