"""Loops: what the bands miss of an equation counts 1 / (1 - q) times, and no less."""

import itertools

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.rules import plausible_set
from grisaille.errors import ModelError
from grisaille.records import History, Observation
from grisaille.theory.amplification import Source, known_slopes, lipschitz, loops_of
from tests.theory.theory_helpers import KERNELS, KnownNorm, box, true_outputs

pytestmark = pytest.mark.slow


LINEAR = gs.Linear(1.0, 0.4)  # k(s, s) <= 1 on [-1, 1] x [-1, 1]


def straight(slope_x, slope_t):
    """phi(x, t) = slope_x x + slope_t t, as a function of known norm."""
    function = KnownNorm(LINEAR, 1.0, np.random.default_rng(0), 2, centers=2)
    function.centers = np.eye(2)
    function.weights = np.array([slope_x, slope_t]) / LINEAR.variance
    return function, float(np.hypot(slope_x, slope_t) / np.sqrt(LINEAR.variance))


def straight_loop(q, objective=lambda x, t: t, slope_x=0.1, tolerance=1e-12, **options):
    function, norm = straight(slope_x, q)
    x = gs.Variable("x", lower=-1, upper=1)
    t = gs.Unknown("t", lower=-1, upper=1, **{"contraction": q, **options})
    phi = box(function, "phi", norm)
    return gs.Problem(
        minimize=objective(x, t), equations={"loop": t == phi(x, t)}, feasibility_tol=tolerance
    )


@pytest.mark.parametrize("q", [0.0, 0.5, 0.8, 0.9])
def test_the_factor_is_attained_so_no_smaller_one_is_right(q):
    # One answer, 0, is known where phi is 0. Elsewhere phi lies at the upper end of its band, and
    # the lower end closes the loop at t = -a x / (1 + q), while its solution is a x / (1 - q).
    a, x = 0.1, 0.8
    theory = gs.Theory(regularization=1e-10)
    problem = straight_loop(q)
    order = [v.name for v in problem.variables]
    seen = np.array([q, -a]) if q else np.array([0.0, 1.0])
    history = History(loose=(Observation("phi", seen, np.zeros(1)),))
    plausible = plausible_set(problem.program, history, theory)
    low, solution = -a * x / (1 + q), a * x / (1 - q)
    point = np.array([{"x": x, "t": low}[name] for name in order])
    end = torch.tensor([*point, -1.0])
    constraints = plausible.evaluate(end[None])[1]
    assert constraints.max() <= 1e-6  # it is plausible that the loop closes there
    reach = plausible.reaches(point, plausible.trace(end)[1])
    guarantee = gs.Guarantee(problem, theory)
    assert guarantee.amplification[0] == pytest.approx([2 / (1 - q)])
    assert solution - low == pytest.approx(float(guarantee.amplification[0] @ reach), rel=1e-4)


def curved_loop(seed, q=0.6):
    """A loop of two streams through two black boxes, with a known slope q around it at most."""
    kernel = KERNELS["squared exponential"]
    generator = np.random.default_rng(seed)
    first = KnownNorm(kernel, 0.5, generator, 2)
    second = KnownNorm(kernel, 0.4, generator, 2)
    # Neither is steeper than B / lengthscale in what it reads of the other stream.
    part = q / (0.5 / 0.4)
    x = gs.Variable("x", lower=-1, upper=1)
    u = gs.Unknown("u", lower=-1, upper=1, contraction=q)
    v = gs.Unknown("v", lower=-1, upper=1, contraction=q)
    f, g = box(first, "f", 0.5), box(second, "g", 0.4)
    return gs.Problem(
        minimize=u - 2 * v + 0.5 * x,
        subject_to={"limit": u + v * 0.5 <= 0.1},
        equations={"one": u == part * f(x, v), "two": v == part * g(x, u)},
    )


def closed(problem, point):
    """The same decisions with their loop closed exactly, by going around it."""
    names = [w.name for w in problem.variables]
    place = {name: names.index(name) for name in "xuv"}
    boxes = {b.name: b.fn for b in problem.boxes}
    x, part = point[place["x"]], 0.6 / (0.5 / 0.4)
    u, v = 0.0, 0.0
    for _ in range(200):
        u, v = part * boxes["f"](x, v), part * boxes["g"](x, u)
    result = point.copy()
    result[place["u"]], result[place["v"]] = u, v
    return result


@pytest.mark.parametrize("seed", range(4))
def test_decisions_with_their_loops_closed_keep_to_the_bounds(seed):
    problem = curved_loop(seed)
    theory = gs.Theory(horizon=6, regularization=1e-6)
    quick = gs.MultiStart(starts=4, samples=512)
    result = problem.solve(
        6, strategy=gs.Optimistic(beta=theory, solver=quick), seed=seed, progress=False
    )
    bounds = result.discrepancy_bounds()
    rows = [0, 1 + problem.constraint_names.index("limit")]
    xs = np.linspace(-1, 1, 301)
    order = [w.name for w in problem.variables]
    grid = np.zeros((len(xs), 3))
    grid[:, order.index("x")] = xs
    values = true_outputs(problem, np.array([closed(problem, g) for g in grid]))
    allowed = values[:, rows[1]] <= 0
    assert allowed.any()
    optimum = values[allowed, 0].min()
    regrets, violations = 0.0, 0.0
    for trial, bound in zip(result.history, bounds, strict=True):
        true = true_outputs(problem, closed(problem, trial.x)[None])[0]
        assert abs(true[0] - trial.suggestion.bound.estimated) <= bound[0] + 1e-9
        assert true[rows[1]] <= bound[rows[1]] + 1e-9
        regrets += max(0.0, true[0] - optimum)
        violations += max(0.0, true[rows[1]])
    assert regrets <= result.regret_bound() <= result.regret_bound(realized=False)
    assert violations <= result.violation_bounds()[rows[1] - 1]
    assert "loops: q 0.6, so that what is missed counts 2.5 times" in repr(result.guarantee())


def test_the_constants_are_those_worked_out_by_hand():
    guarantee = gs.Guarantee(curved_loop(0), gs.Theory())
    part = 0.6 / (0.5 / 0.4)
    calls = [call.box.name for call in curved_loop(0).program.calls]
    # |u - u*| and |v - v*| are at most 2 part (reach of f or of g) / (1 - q) each; u - 2 v + x / 2
    # adds 3 of them, and u + v / 2 adds 1.5. All widths are 2, so they cancel.
    objective, limit = guarantee.amplification[:2]
    assert objective == pytest.approx([3 * 2 * part / 0.4] * 2)
    assert limit == pytest.approx([1.5 * 2 * part / 0.4] * 2)
    # The equations themselves, at the unknowns that were tried, have the constants of the lemma.
    own = {"one": "f", "two": "g"}
    names = curved_loop(0).constraint_names[1:]
    for name, row in zip(names, guarantee.amplification[2:], strict=True):
        assert row == pytest.approx([2 * part if b == own[name[:3]] else 0 for b in calls])
    # Tolerances: 1e-6 of the width of each unknown.
    assert guarantee.loop_offsets[:2] == pytest.approx([3 * 2e-6 / 0.4, 1.5 * 2e-6 / 0.4])
    assert (guarantee.loop_offsets[2:] == 0).all()


def test_an_unknown_counts_through_the_black_boxes_that_read_it():
    # minimize phi(x, t): t moves phi by its Lipschitz constant in t, besides its own band.
    problem = straight_loop(0.5, objective=lambda x, t: 3 * t + x)
    inner = gs.Guarantee(problem, gs.Theory(regularization=1e-6))
    assert inner.amplification[0] == pytest.approx([3 * 2 / 0.5])
    phi = problem.boxes[0]
    x, t = (next(v for v in problem.variables if v.name == name) for name in "xt")
    through = gs.Problem(minimize=phi(x, t), equations=[t == phi(x, t)])
    constant = float(inner.lipschitz["phi"].constants[0, 1])
    found = gs.Guarantee(through, gs.Theory(regularization=1e-6)).amplification[0]
    assert found == pytest.approx([2 + constant * 2 / 0.5])


def test_widths_make_the_bound_independent_of_units():
    def scaled(factor):
        function, norm = straight(0.1, 0.5)
        x = gs.Variable("x", lower=-1, upper=1)
        t = gs.Unknown("t", lower=-factor, upper=factor, contraction=0.5)
        v = gs.Unknown("v", lower=-1, upper=1, contraction=0.5)
        phi = box(function, "phi", norm)
        return gs.Problem(
            minimize=t / factor + v, equations=[t == factor * phi(x, v), v == 0.5 * t / factor]
        )

    plain = gs.Guarantee(scaled(1.0), gs.Theory()).amplification[0]
    large = gs.Guarantee(scaled(1000.0), gs.Theory()).amplification[0]
    assert large == pytest.approx(plain)


def test_infeasible_by_uses_the_factor():
    loose, tight = (
        gs.Guarantee(
            gs.Problem(minimize=x, subject_to={"c": t * t <= -5}, equations=[t == phi(x, t)]),
            gs.Theory(regularization=1e-4),
        )
        for x, t, phi in (parts(0.5), parts(0.9))
    )
    assert loose.infeasible_by(4.0) < tight.infeasible_by(4.0)
    assert tight.violations(10)[0] == pytest.approx(loose.violations(10)[0] * 5, rel=1e-3)


def parts(contraction):
    function, norm = straight(0.1, 0.5)
    x = gs.Variable("x", lower=-1, upper=1)
    t = gs.Unknown("t", lower=-1, upper=1, contraction=contraction)
    return x, t, box(function, "phi", norm)


# --- refusals ------------------------------------------------------------------------------------
def test_without_a_contraction_theory_mode_and_bounds_are_refused_by_the_name_of_the_unknown():
    problem = straight_loop(0.5, contraction=None)
    with pytest.raises(ModelError, match=r"unknown 't' does not declare that: pass gs\.Unknown"):
        gs.Guarantee(problem, gs.Theory())
    strategy = gs.Optimistic(beta=gs.Theory(horizon=3))
    with pytest.raises(ModelError, match=r"theory mode needs.*unknown 't' has no contraction"):
        problem.solve(3, strategy=strategy, progress=False)


def test_a_finished_study_without_a_contraction_has_no_bounds_on_regret():
    problem = straight_loop(0.5, contraction=None, tolerance=1e-3)
    quick = gs.MultiStart(starts=4, samples=256)
    result = problem.solve(
        3, strategy=gs.Optimistic(exploit=False, solver=quick, initial=1), progress=False
    )
    for bound in (result.regret_bound, result.violation_bounds, result.discrepancy_bounds):
        with pytest.raises(ModelError, match="unknown 't' does not declare that"):
            bound()


def test_an_equation_that_is_not_solved_for_its_unknown_is_refused():
    x, t, phi = parts(0.5)
    problem = gs.Problem(minimize=t, equations=[phi(x, t) - t == 0])
    with pytest.raises(ModelError, match=r"the equation of unknown 't' written as t == \.\.\."):
        gs.Guarantee(problem, gs.Theory())


def test_chained_loops_have_only_realized_bounds():
    problem = straight_loop(0.5)
    with pytest.raises(ModelError, match="how many answers a trial has is not known beforehand"):
        gs.Guarantee(problem, gs.Theory(), evaluation="chained")


def test_a_known_part_that_jumps_with_an_unknown_is_refused():
    x, t, phi = parts(0.5)
    problem = gs.Problem(minimize=np.floor(4 * t), equations=[t == phi(x, t)])
    with pytest.raises(ModelError, match="may jump with a black box's output or an unknown"):
        gs.Guarantee(problem, gs.Theory())


def test_problems_without_unknowns_have_no_loops():
    x, _, _ = parts(0.5)
    assert loops_of(gs.Problem(minimize=x)) is None


@pytest.mark.parametrize("signs", list(itertools.product((-1.0, 1.0), repeat=3)))
def test_slopes_of_a_known_part_are_found_at_every_corner(signs):
    """The slopes of (1 + s_1 y_1) (1 + s_2 y_2) (1 + s_3 y_3) are largest, 4, at y = s."""
    x = gs.Variable("x", lower=-1, upper=1)
    y = gs.BlackBox(None, name="f", outputs=3, lower=-1, upper=1)(x)
    problem = gs.Problem(minimize=np.prod(1 + np.array(signs) * y))
    slopes = known_slopes(problem.program, History()).outputs
    assert slopes == pytest.approx(np.full((1, 3), 4.0), abs=0)


def test_slopes_are_found_at_every_corner_of_any_three_of_many_outputs():
    """With 30 outputs not every corner is visited, but every corner of some outputs is."""
    x = gs.Variable("x", lower=-1, upper=1)
    y = gs.BlackBox(None, name="f", outputs=30, lower=-1, upper=1)(x)
    for chosen in ([0, 1, 2], [0, 14, 29], [20, 21, 22]):
        for signs in itertools.product((-1.0, 1.0), repeat=3):
            problem = gs.Problem(minimize=np.prod(1 + np.array(signs) * y[chosen]))
            slopes = known_slopes(problem.program, History()).outputs
            assert slopes[:, chosen] == pytest.approx(np.full((1, 3), 4.0), abs=0)


def test_slopes_of_a_sum_of_kernels_follow_from_its_norm_and_no_function_is_steeper():
    parts = gs.SquaredExponential(0.5, 0.6), gs.Linear(2.0, 0.4)
    kernel = parts[0].on(0) + parts[1]
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = gs.BlackBox(None, name="f", noise=0, kernel=kernel, norm_bound=3.0)
    problem = gs.Problem(minimize=f(x))
    found = lipschitz(problem.program, f, None, History())
    assert found.source is Source.NORM
    expected = 3 * np.sqrt([0.6 / 0.25 + 0.4 / 4, 0.4 / 4])
    np.testing.assert_allclose(found.constants, expected[None])
    product = gs.BlackBox(None, name="g", noise=0, kernel=parts[0] * parts[1], norm_bound=3.0)
    problem = gs.Problem(minimize=product(x))
    with pytest.raises(gs.ModelError, match="does not follow from its norm bound and kernel: pass"):
        lipschitz(problem.program, product, None, History())
