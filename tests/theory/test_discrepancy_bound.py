"""Lemma discrepancy_bound: plausible outputs stay within sum A beta sigma of the true ones."""

import math

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.rules import plausible_set
from grisaille.theory.amplification import Source
from grisaille.theory.guarantee import discrepancy_bounds
from tests.theory.theory_helpers import KERNELS, KnownNorm, box, true_outputs

pytestmark = pytest.mark.slow


KERNEL = KERNELS["squared exponential"]
FORMS = ("tight", "corrected", "printed")


def boxes(seed):
    generator = np.random.default_rng(seed)
    wide = {"input_lower": -2, "input_upper": 2}
    return (
        box(KnownNorm(KERNEL, 1.0, generator, 2), "inner", 1.0),
        box(KnownNorm(KERNEL, 0.7, generator, 1, width=2.0), "outer", 0.7, **wide),
        box(KnownNorm(KERNEL, 0.5, generator, 2, width=2.0), "last", 0.5, **wide),
    )


def one_layer(seed):
    inner, _, _ = boxes(seed)
    x = gs.Variable("x", 2, lower=-1, upper=1)
    return gs.Problem(minimize=3 * inner(x) - x[0], subject_to=[inner(x) ** 2 <= 0.5])


def chain(seed):
    inner, outer, _ = boxes(seed)
    x = gs.Variable("x", 2, lower=-1, upper=1)
    return gs.Problem(minimize=2 * outer(inner(x) + 0.5 * x[1]) + x[0])


def black_box_last(seed):
    inner, outer, last = boxes(seed)
    x = gs.Variable("x", 2, lower=-1, upper=1)
    y = inner(x)
    return gs.Problem(minimize=last(outer(y), y), subject_to=[outer(y) <= 0.2])


PROBLEMS = [one_layer, chain, black_box_last]


def discrepancies(problem, seed):
    """For random plausible points: how far outputs are from the true ones, and beta sigma."""
    theory = gs.Theory(horizon=5)
    quick = gs.MultiStart(starts=3, samples=128, iterations=10)
    history = problem.solve(
        5, strategy=gs.Optimistic(beta=theory, solver=quick), seed=seed, progress=False
    ).history
    plausible = plausible_set(problem.program, history, theory)
    generator = np.random.default_rng(seed)
    lower, upper = plausible.lower.numpy(), plausible.upper.numpy()
    far, reaches = [], []
    for _ in range(150):
        point = generator.uniform(lower, upper)
        ends = generator.random(len(point)) < 0.5
        eta = np.arange(len(point)) >= problem.program.size
        point[ends & eta] = np.sign(point[ends & eta])  # the ends of the bands are the worst
        x = point[: problem.program.size]
        objective, constraints = plausible.evaluate(torch.tensor(point[None]))
        outputs = np.append(objective.detach().numpy(), constraints.detach().numpy())
        far.append(np.abs(outputs - true_outputs(problem, x[None])[0]))
        reaches.append(plausible.reaches(x, plausible.trace(torch.tensor(point))[1]))
    return np.array(far), np.array(reaches), theory


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("make", PROBLEMS)
def test_no_plausible_output_is_further_away_than_the_bound(make, seed):
    problem = make(seed)
    far, reaches, theory = discrepancies(problem, seed)
    for form in ("tight", "corrected"):
        factors = gs.Guarantee(problem, theory, form=form).amplification
        assert (far <= reaches @ factors.T + 1e-9).all()


def test_the_tight_form_is_sharp_where_the_problem_is_linear_in_one_box():
    # The band's far end is 2 beta sigma from its near one, and A = 2 * 3 says so exactly.
    far, reaches, theory = discrepancies(one_layer(0), 0)
    factors = gs.Guarantee(one_layer(0), theory).amplification
    assert factors[0] == pytest.approx([6.0])
    assert (far[:, 0] / (reaches @ factors[0])).max() <= 1
    assert (far[:, 0] / (reaches @ factors[0])).max() > 0.5


def test_half_of_the_tight_form_would_be_exceeded():
    exceeded = 0
    for seed in range(3):
        far, reaches, theory = discrepancies(one_layer(seed), seed)
        factors = gs.Guarantee(one_layer(seed), theory).amplification
        exceeded += int((far > reaches @ factors.T / 2).any())
    assert exceeded


def test_as_printed_the_lemma_is_wrong_for_a_black_box_last_node():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    inner, _, _ = boxes(0)
    problem = gs.Problem(minimize=inner(x))
    far, _, theory = discrepancies(problem, 0)
    assert gs.Guarantee(problem, theory, form="printed").amplification == pytest.approx(0)
    assert far.max() > 0.1
    assert gs.Guarantee(problem, theory, form="corrected").amplification == pytest.approx(2)
    assert gs.Guarantee(problem, theory, form="tight").amplification == pytest.approx(2)


def test_the_constants_are_those_worked_out_by_hand():
    # last(outer(y), y) with L constants a (inner), b (outer), c (last) per input.
    problem = black_box_last(0)
    theory = gs.Theory()
    b, c = 0.7 / 0.4, 0.5 / 0.4  # B sqrt(variance) / lengthscale
    tight = gs.Guarantee(problem, theory).amplification
    # y reaches last directly and through outer; the constraint is outer's value.
    assert tight[0] == pytest.approx([2 * (c + c * b), 2 * c, 2])
    assert tight[1] == pytest.approx([2 * b, 2, 0])
    corrected = gs.Guarantee(problem, theory, form="corrected").amplification
    assert corrected[0] == pytest.approx([2 * (2 * c + 2 * c * 2 * b), 2 * 2 * c, 2])
    # outer(y) - 0.2 is a white node, with L = 1.
    assert corrected[1] == pytest.approx([2 * (2 * 2 * b), 2 * 2, 0])
    printed = gs.Guarantee(problem, theory, form="printed").amplification
    assert printed[0] == pytest.approx([2 * (2 * c + 2 * c * 2 * b), 2 * 2 * c, 0])
    assert printed[1] == pytest.approx(corrected[1])


def test_white_nodes_count_with_their_steepest_slope():
    # outer(inner + x2 / 2): the white sum has slope 1; then 2 outer + x1 has slope 2.
    tight = gs.Guarantee(chain(0), gs.Theory()).amplification
    b = 0.7 / 0.4
    assert tight[0] == pytest.approx([2 * 2 * b, 2 * 2])
    corrected = gs.Guarantee(chain(0), gs.Theory(), form="corrected").amplification
    assert corrected[0] == pytest.approx([2 * (2 * 1) * (2 * b) * (2 * 2), 2 * (2 * 2)])


@pytest.mark.parametrize("make", PROBLEMS)
def test_tight_constants_are_never_larger(make):
    tight, corrected, printed = (
        gs.Guarantee(make(1), gs.Theory(), form=form).amplification for form in FORMS
    )
    assert (tight <= corrected + 1e-12).all()
    assert (printed <= corrected + 1e-12).all()


# --- Lipschitz constants -------------------------------------------------------------------------
@pytest.mark.parametrize("name", KERNELS)
def test_the_norm_bound_implies_a_lipschitz_constant(name):
    kernel = KERNELS[name]
    for seed in range(5):
        generator = np.random.default_rng(seed)
        function = KnownNorm(kernel, 1.3, generator, 2)
        x = gs.Variable("x", 2, lower=-1, upper=1)
        problem = gs.Problem(minimize=box(function, "phi", 1.3)(x))
        scaled = gs.Guarantee(problem, gs.Theory()).lipschitz["phi"]
        assert scaled.source is Source.NORM
        a, b = generator.uniform(-1, 1, (2, 400, 2))
        b = a + 0.05 * (b - a)
        change = np.abs(function.values(a) - function.values(b))
        assert (change <= np.abs(a - b) @ scaled.constants[0]).all()


def test_a_steeper_function_of_the_same_norm_does_not_exist():
    # The derivative of k(., 0) at its steepest point direction attains B sqrt(-k''(0)).
    for kernel, steepness in (
        (gs.SquaredExponential(0.4, 1.0), 1 / 0.4),
        (gs.Matern(1.5, 0.6, 0.8), math.sqrt(3 * 0.8) / 0.6),
        (gs.Matern(2.5, 0.5, 1.0), math.sqrt(5 / 3) / 0.5),
        (gs.Linear(1.5, 1.0), 1 / 1.5),
    ):
        x = gs.Variable("x", 1, lower=-1, upper=1)
        h = 1e-4
        function = KnownNorm(kernel, 1.0, np.random.default_rng(0), centers=2)
        function.centers = np.array([[0.5 * h], [-0.5 * h]])
        weights = np.array([1.0, -1.0])
        from tests.theory.theory_helpers import covariance

        squared = weights @ covariance(kernel, function.centers, function.centers) @ weights
        function.weights = weights / math.sqrt(squared)
        slope = np.diff(function.values(np.array([[-0.5 * h], [0.5 * h]])))[0] / h
        problem = gs.Problem(minimize=box(function, "phi", 1.0)(x))
        constant = gs.Guarantee(problem, gs.Theory()).lipschitz["phi"].constants[0, 0]
        assert constant == pytest.approx(steepness)
        assert abs(slope) == pytest.approx(constant, rel=1e-2)


def test_declared_constants_come_first_and_rough_kernels_ask_for_them():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    options = {"name": "phi", "noise": 0, "norm_bound": 1.0}
    rough = gs.BlackBox(None, kernel=gs.Matern(0.5, 1.0, 1.0), **options)
    with pytest.raises(gs.ModelError, match=r"'phi' does not follow.*pass lipschitz="):
        gs.Guarantee(gs.Problem(minimize=rough(x)), gs.Theory())
    told = gs.BlackBox(None, kernel=gs.Matern(0.5, 1.0, 1.0), lipschitz=[1, 2], **options)
    known = gs.Guarantee(gs.Problem(minimize=told(x)), gs.Theory()).lipschitz["phi"]
    assert (known.source, known.constants.tolist()) == (Source.DECLARED, [[1.0, 2.0]])


def test_without_declaration_constants_are_estimated_from_the_posterior_and_say_so():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(lambda x: math.sin(3 * x), name="f", noise=0)
    g = gs.BlackBox(lambda y: 2 * y, name="g", noise=0)
    problem = gs.Problem(minimize=g(f(x)))
    result = problem.solve(8, strategy=gs.Optimistic(exploit=False, initial=4), progress=False)
    from grisaille.theory.amplification import known_slopes, lipschitz

    surrogates = plausible_set(problem.program, result.history, 2.0).beliefs
    estimate = lipschitz(problem.program, f, surrogates["f"], result.history)
    assert estimate.source is Source.ESTIMATED
    assert estimate.constants[0, 0] == pytest.approx(3.0, rel=0.1)
    assert known_slopes(problem.program, result.history).source is Source.EXACT
    assert np.isfinite(result.discrepancy_bounds()[4:]).any()


def test_a_trial_is_judged_by_the_bands_before_it():
    problem = one_layer(0)
    quick = gs.MultiStart(starts=4, samples=256)
    strategy = gs.Optimistic(beta=gs.Theory(horizon=4), solver=quick)
    bounds = problem.solve(4, strategy=strategy, progress=False).discrepancy_bounds()
    # Before the first trial nothing is known: beta sigma = B sqrt(k) = 1, and A = 6.
    assert bounds[0, 0] == pytest.approx(6.0)
    assert (bounds[1:, 0] < 6.0).all()


# --- of a finished study -------------------------------------------------------------------------
@pytest.mark.parametrize("make", PROBLEMS)
def test_trials_of_a_study_keep_to_their_bounds(make):
    problem = make(3)
    theory = gs.Theory(horizon=8)
    quick = gs.MultiStart(starts=4, samples=256)
    result = problem.solve(8, strategy=gs.Optimistic(beta=theory, solver=quick), progress=False)
    bounds = result.discrepancy_bounds()
    assert bounds.shape == (8, 1 + len(result.constr))
    for trial, bound in zip(result.history, bounds, strict=True):
        assert abs(trial.objective - trial.suggestion.bound.estimated) <= bound[0] + 1e-9
        assert (trial.constraints <= bound[1:] + 1e-6).all()
    again = discrepancy_bounds(problem, result.history, theory, "corrected")
    assert (again >= bounds - 1e-12).all()
