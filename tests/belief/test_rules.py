"""Bands that hold by declaration alone, and what is proved with them."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.rules import bands_are_declared, plausible_set
from grisaille.records import History
from tests.belief.belief_helpers import history_at, known_kernel, random_design

SOLVER = gs.Certified(absolute_gap=0.02, regions=2000, search=gs.MultiStart(2, 64, 10))
PROVING = gs.Optimistic(beta=gs.Declared(), solver=SOLVER)


def problem_of(function=np.sin, **options):
    x = gs.Variable("x", lower=-1, upper=1)
    return gs.Problem(minimize=gs.BlackBox(function, name="f", **options)(x))


@pytest.mark.parametrize(
    ("options", "enough"),
    [
        ({"noise": 0, "lipschitz": 1}, True),
        ({"noise": 0, "norm_bound": 1, "kernel": known_kernel()}, True),
        ({"noise": 0, "monotone": "increasing", "lower": 0, "upper": 1}, True),
        ({"lower": 0, "upper": 1}, True),  # noise or not, the function stays inside
        ({"noise": 0, "monotone": "increasing"}, False),
        ({"noise": 0, "monotone": "increasing", "lower": 0}, False),
        ({"lower": 0, "upper": np.inf}, False),
        ({"lipschitz": 1}, False),
        ({"noise": 0.1, "lipschitz": 1}, False),
        ({"noise": 0.1, "norm_bound": 1, "kernel": known_kernel()}, False),
        ({"noise": 0.1, "process_noise": True, "lower": 0, "upper": 1}, False),
        ({"noise": 0, "kernel": known_kernel()}, False),
        ({}, False),
    ],
)
def test_declared_bands_need_constants_that_bound_the_function(options, enough):
    problem = problem_of(**options)
    assert bands_are_declared(problem.program) == enough
    if not enough:
        with pytest.raises(gs.ModelError, match=r"these black boxes have none: 'f'\. Pass noise=0"):
            gs.Study(problem, strategy=PROVING)


def test_a_box_without_answers_is_bounded_by_its_range_or_norm():
    rule = gs.Declared()
    lipschitz = problem_of(noise=0, lipschitz=1)
    assert not rule.is_bounded(lipschitz.program, History())
    assert rule.is_bounded(lipschitz.program, history_at(lipschitz, [[0.0]]))
    for options in ({"lower": 0, "upper": 1}, {"norm_bound": 1, "kernel": known_kernel()}):
        assert rule.is_bounded(problem_of(noise=0, **options).program, History())


def test_the_band_of_a_norm_bound_contains_every_function_of_that_norm():
    rng = np.random.default_rng(0)
    centers, weights = rng.uniform(-1, 1, 6), rng.normal(size=6)
    gram = np.exp(-((centers[:, None] - centers) ** 2) / 2 / 0.3**2)
    norm = np.sqrt(weights @ gram @ weights)

    def function(s):
        return float(weights @ np.exp(-((centers - s) ** 2) / 2 / 0.3**2))

    problem = problem_of(function, noise=0, norm_bound=norm, kernel=known_kernel(0.3))
    history = history_at(problem, random_design(problem, 4))
    plausible = plausible_set(problem.program, history, gs.Declared())
    states = torch.linspace(-1, 1, 500).double().unsqueeze(1)
    lower, upper = plausible.band(problem.program.calls[0], states)
    truth = torch.tensor([[function(s)] for s in states[:, 0].numpy()])
    assert ((lower <= truth + 1e-9) & (truth <= upper + 1e-9)).all()
    assert float((upper - lower).max()) < 2 * norm


def test_an_optimum_is_proved_without_a_gaussian_process():
    problem = problem_of(lambda x: abs(x - 0.3), noise=0, lipschitz=1)
    result = problem.solve(20, strategy=PROVING, gap_tol=0.1, progress=False)
    assert result.status == gs.Status.OPTIMAL
    assert result.certified
    assert result.lower_bound <= 0 <= result.upper_bound
    assert result.learned == []
    with pytest.raises(gs.ModelError, match=r"beta=gs\.Declared\(\): its gap is a bound on its re"):
        result.regret_bound()


def test_infeasibility_is_proved_without_a_gaussian_process():
    x = gs.Variable("x", lower=0, upper=1)
    rising = {"noise": 0, "monotone": "increasing", "lower": 0, "upper": 2}
    f = gs.BlackBox(lambda x: x + x**2, name="f", **rising)
    g = gs.BlackBox(lambda y: y / 2, name="g", **rising)
    problem = gs.Problem(minimize=f(x), subject_to=[g(f(x)) >= 0.8, x <= 0.6])
    with gs.Study(problem, strategy=PROVING) as study:
        study.observe("f", [0.0, 0.7], [0.0, 1.19])
        study.observe("g", [0.5, 1.3], [0.25, 0.65])
        result = study.run(5, progress=False)
    assert result.status == gs.Status.INFEASIBLE
    assert result.nit == 0
    assert result.certificate.verify()
    assert result.certificate.blame() == ["g(f(x)) >= 0.8", "x <= 0.6"]


def test_a_certified_bound_with_a_cut_is_never_above_the_optimum_and_better_than_without():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    points = [[-0.5, 0.0], [0.5, 0.5], [0.0, -0.7]]
    bounds = {}
    for constant in (None, 1.0):
        f = gs.BlackBox(
            lambda x: np.hypot(*x), name="f", noise=0, kernel=known_kernel(0.3), lipschitz=constant
        )
        problem = gs.Problem(minimize=f(x) - 0.1 * x[0])
        strategy = gs.Optimistic(solver=SOLVER)
        with gs.Study(problem, strategy=strategy) as study:
            study.observe("f", points, [np.hypot(*p) for p in points])
            bounds[constant] = strategy.bound(study.situation)
    assert bounds[1.0].proved <= 0
    assert bounds[1.0].proved > bounds[None].proved + 0.5
    assert bounds[1.0].proved <= bounds[1.0].estimated <= bounds[1.0].proved + 0.05


def test_a_box_with_a_model_of_its_own_is_bounded_by_its_declared_interval():
    class Model:
        def posterior(self, states):
            raise AssertionError

    problem = problem_of(noise=0, lipschitz=1, model=lambda x, y: Model())
    result = problem.solve(3, strategy=PROVING, progress=False)
    assert np.isfinite(result.lower_bound)
    assert result.certified


def test_answers_are_pending_in_their_middle_while_others_are_awaited():
    problem = problem_of(noise=0, lipschitz=1)
    with gs.Study(problem, strategy=gs.Optimistic(beta=gs.Declared())) as study:
        for query in study.ask(1):
            study.tell(query, np.sin(query.inputs))
        places = [float(query.inputs[0]) for query in study.ask(3)]
    assert len({round(place, 3) for place in places}) == 3
