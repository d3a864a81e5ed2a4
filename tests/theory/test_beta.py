"""Theory mode: what it asks for, its rounds, and that nothing is fitted."""

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import TrialKind
from tests.belief.belief_helpers import known_kernel

pytestmark = pytest.mark.slow


QUICK = gs.MultiStart(starts=4, samples=128, iterations=15)


def problem_with(**options):
    x = gs.Variable("x", 1, lower=-1, upper=1)
    declared = {"kernel": known_kernel(), "noise": 0.0, "norm_bound": 2.0, **options}
    h = gs.BlackBox(lambda x: 0.5 * np.cos(2 * x[0]), name="plant", **declared)
    return gs.Problem(minimize=h(x))


def solve(problem, theory, trials=3):
    return problem.solve(trials, strategy=gs.Optimistic(beta=theory, solver=QUICK), progress=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm_bound": None}, r"black box 'plant' has no norm_bound, B_i"),
        (
            {"kernel": None, "norm_bound": None},
            r"black box 'plant' has no kernel with hyper-parameters",
        ),
        (
            {"kernel": gs.Matern(), "norm_bound": None},
            r"'plant' has no kernel with hyper-parameters.*nothing may be",
        ),
        (
            {"kernel": None, "noise": None, "norm_bound": None},
            r"'plant' has no noise: pass noise=0",
        ),
        (
            {"kernel": known_kernel(1.0, 2.25)},
            r"reaches k\(s, s\) = 2\.25, more than 1.*by 2\.25 and multiply norm_bound by 1\.5",
        ),
        ({"kernel": known_kernel([1.0, 1.0])}, "takes 1 number, but its kernel has 2"),
        ({"kernel": gs.Linear(0.5, 1.0)}, r"reaches k\(s, s\) = 4, more than 1"),
    ],
)
def test_missing_constants_are_asked_for_by_name(options, message):
    with pytest.raises(gs.ModelError, match=message):
        solve(problem_with(**options), gs.Theory(horizon=3))


def test_everything_that_is_missing_is_listed_at_once():
    with pytest.raises(gs.ModelError) as error:
        solve(problem_with(kernel=None, noise=None, norm_bound=None), gs.Theory())
    for word in ("kernel", "noise", "norm_bound"):
        assert word in str(error.value)


def test_an_input_range_is_asked_for_where_gamma_needs_it():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    options = {"kernel": known_kernel(), "noise": 0.1, "norm_bound": 1.0}
    inner = gs.BlackBox(lambda x: x[0] / 2, name="inner", **options)
    outer = gs.BlackBox(lambda y: y / 2, name="outer", **options)
    problem = gs.Problem(minimize=outer(inner(x) ** 2))
    with pytest.raises(gs.ModelError, match=r"range of the inputs of black box 'outer'.*observed"):
        solve(problem, gs.Theory(horizon=3))
    assert solve(problem, gs.Theory(horizon=3, gain="observed")).nit == 3
    direct = gs.Problem(minimize=outer(inner(x)))  # |inner| <= its norm bound
    assert solve(direct, gs.Theory(horizon=3)).nit == 3


def test_a_model_of_ones_own_is_refused():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    h = gs.BlackBox(lambda x: x[0], name="h", noise=0, model=lambda x, y: None)
    with pytest.raises(gs.ModelError, match="'h' has no kernel with hyper-parameters"):
        solve(gs.Problem(minimize=h(x)), gs.Theory())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0}, "a probability between 0 and 1"),
        ({"delta": 1.5}, "a probability between 0 and 1"),
        ({"horizon": 0}, "a number of trials of at least 1, or None for the doubling trick"),
        ({"horizon": 2.5}, "a number of trials of at least 1"),
        ({"gain": "most"}, "use 'maximum' or 'observed'"),
        ({"regularization": "small"}, "at least 1e-10"),
        ({"regularization": 0.0}, "at least 1e-10, which rounding needs, or None"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(gs.ModelError, match=message):
        gs.Theory(**options)


def test_regularization_may_be_chosen_only_without_noise():
    with pytest.raises(gs.ModelError, match=r"'plant' has noise.*leave out regularization="):
        solve(problem_with(noise=0.1), gs.Theory(regularization=1e-3))
    assert solve(problem_with(), gs.Theory(regularization=1e-3)).nit == 3


def test_rounds_double_and_share_the_risk():
    theory = gs.Theory(delta=0.12)
    rounds = [theory.round(t) for t in range(9)]
    assert [r.horizon for r in rounds] == [1, 2, 2, 4, 4, 4, 4, 8, 8]
    assert [r.regularization for r in rounds[:4]] == [3.0, 2.0, 2.0, 1.5]
    risks = {r.horizon: r.delta for r in (theory.round(t) for t in range(5000))}
    assert 0.9 * 0.12 < sum(risks.values()) <= 0.12
    fixed = gs.Theory(horizon=7)
    assert {fixed.round(t) for t in range(7)} == {fixed.round(0)}
    assert fixed.round(0).regularization == pytest.approx(1 + 2 / 7)


def test_theory_mode_makes_only_the_algorithms_own_trials():
    result = solve(problem_with(), gs.Theory(horizon=6), 6)
    assert {t.suggestion.kind for t in result.history} == {TrialKind.OPTIMISTIC}
    asked = problem_with().solve(
        6,
        strategy=gs.Optimistic(beta=gs.Theory(horizon=6), solver=QUICK, exploit=True),
        progress=False,
    )
    assert asked.nit == 6


def test_more_trials_than_the_horizon_keep_the_bands_valid():
    problem = problem_with(noise=0.2)
    short = gs.Theory(horizon=2)
    result = solve(problem, short, 6)
    current = short.round(6)
    beta = short.beta(problem.program, problem.boxes[0], 6, current)
    gamma = gs.maximum_information_gain(known_kernel(), [-1], [1], 6, current.regularization)
    expected = 2 + 0.2 * np.sqrt(2 * (gamma + 6 / 2 + np.log(1 / 0.1)))
    assert result.nit == 6
    assert beta == pytest.approx([expected])


def test_without_noise_a_small_regularization_closes_the_gap():
    loose = solve(problem_with(), gs.Theory(horizon=8), 8)
    sharp = solve(problem_with(), gs.Theory(regularization=1e-6), 8)
    assert sharp.gap < loose.gap / 10
    true_optimum = 0.5 * np.cos(2.0)
    assert sharp.lower_bound <= true_optimum + 1e-9


def test_noise_that_carries_a_chain_out_of_range_is_paid_for():
    # inner is known to stay within 0.1, but its noisy answers do not, and outer sees those.
    x = gs.Variable("x", 1, lower=-1, upper=1)
    generator = np.random.default_rng(0)
    inner = gs.BlackBox(
        lambda x: 0.05 * x[0] + 0.3 * generator.standard_normal(),
        name="inner",
        noise=0.3,
        kernel=known_kernel(),
        norm_bound=0.1,
    )
    outer = gs.BlackBox(
        lambda y: 0.1 * y, name="outer", noise=0.1, kernel=known_kernel(0.1), norm_bound=1.0
    )
    problem = gs.Problem(minimize=outer(inner(x)))
    theory = gs.Theory(horizon=8)
    history = problem.solve(
        8,
        strategy=gs.Optimistic(beta=theory, solver=QUICK),
        evaluation="chained",
        progress=False,
    ).history
    inputs, _ = history.data("outer", 1, 1)
    scale = theory.round(8).regularization
    seen = gs.information_gain(known_kernel(0.1), inputs, scale)
    assert seen > gs.maximum_information_gain(known_kernel(0.1), [-0.1], [0.1], 8, scale)
    beta = theory.plausible_set(problem.program, history).beta["outer"]
    assert beta.item() == pytest.approx(1 + 0.1 * np.sqrt(2 * (seen + 1 + np.log(2 / 0.1))))


def test_theory_mode_takes_sums_of_kernels_and_refuses_own_ones():
    class Own(gs.Kernel):
        lengthscale, variance = 1.0, 0.5

        def correlation(self, first, second):
            return gs.Matern().correlation(first, second)

    def solve(kernel):
        x = gs.Variable("x", 2, lower=-1, upper=1)
        f = gs.BlackBox(
            lambda x: np.cos(2 * x[0]) + 0.3 * x[1],
            name="f",
            noise=0.05,
            kernel=kernel,
            norm_bound=3,
        )
        strategy = gs.Optimistic(beta=gs.Theory(horizon=8), solver=gs.MultiStart())
        return gs.Problem(minimize=f(x)).solve(3, strategy=strategy, seed=0, progress=False)

    result = solve(gs.Matern(2.5, 1.0, 0.5).on(0) + gs.Linear(2.0, 1.0).on(1))
    assert result.lower_bound <= np.cos(2) - 0.3 <= result.fun + 0.3
    assert result.guarantee().regret(3) > 0
    with pytest.raises(
        gs.ModelError, match=r"'f' has a kernel of your own, .* or a number as beta"
    ):
        solve(gs.Matern(2.5, 1.0, 0.25) + Own())
    with pytest.raises(gs.ModelError, match=r"reaches k\(s, s\) = 1.5, more than 1"):
        solve(gs.Matern(2.5, 1.0, 0.5) + gs.Linear(1.0, 1.0).on(1))


def test_steps_leave_bounds_but_not_those_on_regret():
    x = gs.Variable("x", lower=-1, upper=1, step=0.25)
    h = gs.BlackBox(np.cos, name="plant", kernel=known_kernel(), noise=0, norm_bound=2.0)
    problem = gs.Problem(minimize=h(x) + x)
    result = solve(problem, gs.Theory(horizon=3))
    assert [t.suggestion.kind for t in result.history] == [TrialKind.OPTIMISTIC] * 3
    assert result.lower_bound <= np.cos(-1) - 1
    message = r"variable 'x' has step=, which moves them: leave step= out"
    for bound in (result.regret_bound, result.discrepancy_bounds, result.guarantee):
        with pytest.raises(gs.ModelError, match=message):
            bound()


def test_a_given_kernel_over_decades_is_one_of_the_users_units():
    """Bands and bounds are those of a plain variable, whichever way they are searched."""
    found = []
    for log in (False, True):
        x = gs.Variable("x", lower=0.1, upper=2, log=log)
        h = gs.BlackBox(np.cos, name="plant", kernel=known_kernel(), noise=0, norm_bound=2.0)
        problem = gs.Problem(minimize=h(x) + x)
        strategy = gs.Optimistic(beta=gs.Theory(horizon=2), solver=gs.Certified(1e-6, 1e-6))
        found.append(problem.solve(2, strategy=strategy, progress=False))
    plain, searched = found
    assert searched.lower_bound == pytest.approx(plain.lower_bound, abs=1e-5)
    assert searched.certified
    assert searched.regret_bound() == pytest.approx(plain.regret_bound(), rel=1e-2)
