"""Known problems: their stated optimum is attained where they say it is, and nowhere beaten."""

from __future__ import annotations

import inspect
from functools import lru_cache

import cloudpickle
import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.stats import qmc

import grisaille as gs
from grisaille import problems
from grisaille.lab.problems import KnownProblem, Structure
from grisaille.lab.problems.paper_examples import GaussianDraw
from grisaille.language.program import Program
from tests.lab.problems.known_problem_formulas import DRAWN, FIXED, SEED, Formula, formula_of
from tests.lab.problems.test_known_problem_loop_optima import CASES

pytestmark = pytest.mark.slow


NAMES = [*FIXED, *DRAWN]


@lru_cache
def make(name: str) -> KnownProblem:
    return problems.catalogue()[name](SEED)


@lru_cache
def sobol(name: str, exponent: int) -> np.ndarray:
    program = make(name).problem.program
    points = qmc.Sobol(program.size, rng=np.random.default_rng(0)).random_base2(exponent)
    return np.array([program.space.spread(point) for point in scaled(program, points)])


def scaled(program: Program, points: np.ndarray) -> np.ndarray:
    return program.lower + (program.upper - program.lower) * points


def test_every_problem_but_the_causal_ones_and_those_with_equations_is_checked_here():
    others = {name for name in problems.catalogue() if name not in [*NAMES, *CASES]}
    assert {make(name).kind for name in others} <= {Structure.CAUSAL}


def test_the_catalogue_names_every_function_of_the_package():
    offered = {name for name in problems.__all__ if inspect.isfunction(getattr(problems, name))}
    assert offered - {"catalogue"} == set(problems.catalogue())


def test_only_drawn_problems_depend_on_the_seed():
    catalogue = problems.catalogue()
    for name in FIXED:
        assert catalogue[name](0).optimum == catalogue[name](1).optimum
    assert catalogue["chain"](SEED).optimum == make("chain").optimum
    assert catalogue["chain"](SEED + 1).optimum != make("chain").optimum


@pytest.mark.parametrize("name", NAMES)
def test_the_optimum_is_the_value_at_the_stated_point_which_is_feasible(name):
    known = make(name)
    objective, violation = known.measure(known.x)
    assert objective == pytest.approx(known.optimum, rel=1e-11, abs=1e-9)
    assert violation <= 1e-9
    program = known.problem.program
    assert (program.lower <= known.x).all()
    assert (known.x <= program.upper).all()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_measured_agrees_with_a_formula_written_independently(name):
    known = make(name)
    points = np.concatenate([sobol(name, 4), known.x[None]])
    objectives, constraints = formula_of(name, known)(points)
    worst = np.maximum(constraints, 0).max(1, initial=0)
    for point, objective, violation in zip(points, objectives, worst, strict=True):
        assert known.measure(point) == pytest.approx((objective, violation), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_a_dense_search_finds_nothing_better_and_comes_close(name):
    known = make(name)
    formula = formula_of(name, known)
    points = sobol(name, 12)
    candidates = np.concatenate([points, refined(known, formula, points)])
    objectives, constraints = formula(candidates)
    regrets = np.array([known.regret(value) for value in objectives])
    feasible = constraints.max(1, initial=-1.0) <= 1e-9
    assert regrets[feasible].min() >= -1e-6
    # A search ends on either side of a limit by rounding, which is in the units of that limit.
    sizes = np.maximum(constraints[: len(points)].std(0), 1.0)
    reached = (constraints / sizes).max(1, initial=-1.0) <= 1e-9
    assert regrets[reached].min() <= 1e-4


def refined(known: KnownProblem, formula: Formula, points: np.ndarray) -> np.ndarray:
    """The best points, and one near the stated optimum, after a local search from each.

    Everything is scaled: variables by their ranges, the rest by its spread over the points. Whole
    numbers stay as they are.
    """
    program, sense = known.problem.program, known.problem.sense
    lower, width = program.lower, program.upper - program.lower
    objectives, constraints = formula(points)
    value, sizes = objectives.std(), constraints.std(0)
    penalized = sense * objectives + 1e3 * value * np.maximum(constraints / sizes, 0).sum(1)
    near = (known.x - lower) / width
    whole = program.space.whole
    near += np.where(whole, 0, 0.02 * np.random.default_rng(0).standard_normal(program.size))
    best = (points[np.argsort(penalized)[:6]] - lower) / width
    limits = {"type": "ineq", "fun": lambda u: -formula((lower + width * u)[None])[1][0] / sizes}
    found = [
        minimize(
            lambda u: sense * formula((lower + width * u)[None])[0][0] / value,
            start,
            method="SLSQP",
            bounds=[(u, u) if fixed else (0, 1) for u, fixed in zip(start, whole, strict=True)],
            constraints=limits if constraints.size else (),
            options={"maxiter": 300, "ftol": 1e-15},
        ).x
        for start in [*best, np.clip(near, 0, 1)]
    ]
    points = np.clip(lower + width * np.array(found), lower, program.upper)
    return np.array([program.space.on_steps(point) for point in points])


@pytest.mark.parametrize(
    ("name", "share"), [("williams_otto", 0.466), ("sinusoidal", 0.435), ("flowsheet", 0.059)]
)
def test_the_feasible_share_of_the_box_is_the_stated_one(name, share):
    _, constraints = FIXED[name](sobol(name, 14))
    assert (constraints <= 0).all(1).mean() == pytest.approx(share, abs=0.001)


@pytest.mark.parametrize(
    ("name", "multipliers"),
    [("rosen_suzuki", [1.0, 0.0, 2.0]), ("bazaraa", [0.933454628759, 0.822430580771])],
)
def test_multipliers_prove_the_optimum_of_a_convex_problem(name, multipliers):
    known = make(name)

    def lagrangian(x: np.ndarray) -> float:
        objective, constraints = FIXED[name](x[None])
        return float(objective[0] + constraints[0] @ multipliers)

    steps = 1e-5 * np.eye(len(known.x))
    slopes = [(lagrangian(known.x + s) - lagrangian(known.x - s)) / 2e-5 for s in steps]
    assert np.abs(slopes).max() < 1e-8
    assert lagrangian(known.x) == pytest.approx(known.optimum, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_the_kind_of_a_problem_is_what_its_graph_says(name):
    known = make(name)
    if known.problem.constraints:
        assert known.kind is Structure.CONSTRAINED
    elif any(call.upstream for call in known.problem.program.calls):
        assert known.kind is Structure.NESTED
    else:
        assert known.kind is Structure.ONE_LAYER


@pytest.mark.parametrize("name", FIXED)
def test_outputs_lie_in_the_ranges_that_are_declared(name):
    program = make(name).problem.program
    for point in sobol(name, 6):
        for number, inputs in program.first_states(point).items():
            box = program.calls[number].box
            outputs = box.evaluate(inputs)
            assert box.lower is None or (outputs >= box.lower).all()
            assert box.upper is None or (outputs <= box.upper).all()


@pytest.mark.parametrize("name", NAMES)
def test_black_boxes_answer_the_same_after_a_journey_to_another_process(name):
    known = make(name)
    for number, inputs in known.problem.program.first_states(known.x).items():
        box = known.problem.program.calls[number].box
        copy = cloudpickle.loads(cloudpickle.dumps(box.fn))
        assert np.array_equal(copy(*box.split(inputs)), box.fn(*box.split(inputs)))


def test_the_environmental_model_is_one_call_of_twelve_outputs():
    (call,) = make("environmental").problem.program.calls
    assert call.box.outputs == 12


def test_what_is_measured_of_noisy_draws_is_free_of_noise():
    noisy = problems.lp_with_embedded_gp(SEED, noise=0.1)
    exact = make("lp_with_embedded_gp")
    point = np.array([0.3, -1.2])
    assert noisy.measure(point) == noisy.measure(point) == exact.measure(point)
    box = noisy.problem.boxes[0]
    assert not np.array_equal(box.evaluate(point), box.evaluate(point))


def test_the_violation_measured_is_the_largest_one_and_never_negative():
    known = make("rosen_suzuki")
    assert known.measure(np.zeros(4)) == (0.0, 0.0)
    assert known.measure(np.full(4, 2.0))[1] == 11.0  # of 8, 10 and 11
    assert make("drop_wave").measure(np.zeros(2)) == (1.0, 0.0)


def test_a_point_of_the_wrong_shape_is_refused():
    message = r"'Drop-Wave' measured at an array of shape \(1, 2\): pass a flat .* shape \(2,\)"
    with pytest.raises(gs.ModelError, match=message):
        make("drop_wave").measure(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("noise", "words"), [(0.5, r"noise \[0\.5\]"), (None, "noise to be learned")]
)
def test_noisy_black_boxes_need_a_truth(noise, words):
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(lambda x: x, name="h", noise=noise)(x))
    with pytest.raises(gs.ModelError, match=f"'line' has black box 'h' with {words}.* pass truth="):
        KnownProblem("line", problem, 0.0, np.zeros(1), "here", Structure.ONE_LAYER)
    known = KnownProblem(
        "line", problem, 0.0, np.zeros(1), "here", Structure.ONE_LAYER, lambda x: (float(x[0]), 0.0)
    )
    assert known.measure(np.array([0.25])) == (0.25, 0.0)


@pytest.mark.parametrize("name", DRAWN)
def test_a_fine_grid_confirms_the_optimum_of_a_drawn_problem(name):
    known = make(name)
    program = known.problem.program
    count = 81 if program.size == 2 else 25
    axes = np.linspace(program.lower, program.upper, count).T
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, program.size)
    values, constraints = formula_of(name, known)(points)
    best = values[constraints.max(1, initial=-1.0) <= 0].min()
    assert known.optimum <= best + 1e-9
    assert best - known.optimum < 0.1


def test_a_draw_has_the_norm_it_states_and_the_variance_of_its_kernel():
    generator = np.random.default_rng(1)
    draw = GaussianDraw(generator, 200, [(-2.0, 2.0)])
    states = torch.linspace(-2, 2, 5, dtype=torch.float64).unsqueeze(1)
    values = draw.batch(states)
    assert values.var() == pytest.approx(0.5, rel=0.15)
    gram = draw._covariance(draw._knots)
    direct = torch.einsum("ik,ij,jk->k", draw._weights, gram, draw._weights).sqrt()
    assert np.allclose(draw.norms, direct)


def test_regret_is_positive_in_either_sense():
    assert problems.drop_wave().regret(0.9) == pytest.approx(0.1)
    assert problems.rosen_suzuki().regret(-43) == pytest.approx(1)
