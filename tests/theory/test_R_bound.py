"""Theorems R_bound and best_ite_conv: cumulative regret and best iterate, unconstrained."""

import math

import numpy as np
import pytest

import grisaille as gs
from tests.theory.test_inst_r import POINTS, linear_problem, optimum_on_grid
from tests.theory.theory_helpers import KERNELS, KnownNorm, box

pytestmark = pytest.mark.slow


KERNEL = KERNELS["Matérn 5/2"]


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("horizon", [12, None])
def test_cumulative_regret_is_below_every_form_of_the_bound(noise, horizon):
    for seed in range(3):
        problem = linear_problem(seed, noise)
        theory = gs.Theory(horizon=horizon)
        strategy = gs.Optimistic(beta=theory, solver=gs.Grid(POINTS))
        result = problem.solve(12, strategy=strategy, seed=seed, progress=False)
        metrics = result.metrics(optimum_on_grid(problem))
        regret = metrics.cumulative_positive_regret[-1]
        assert metrics.cumulative_regret[-1] <= regret
        if noise:
            continue  # regrets as observed are noisy; the bound is on the function's
        previous = 0.0
        for form in ("tight", "corrected"):
            realized = result.regret_bound(form)
            promised = result.regret_bound(form, realized=False)
            assert regret <= realized <= promised
            assert promised > previous
            previous = promised
        assert metrics.shortfall.min() <= result.best_iterate_bound()
        assert result.best_iterate_bound() == pytest.approx(result.regret_bound() / 12)


def one_box(noise, horizon):
    x = gs.Variable("x", 1, lower=-1, upper=1)
    function = KnownNorm(KERNEL, 1.5, np.random.default_rng(0), noise=noise)
    problem = gs.Problem(minimize=3 * box(function, "f", 1.5)(x))
    return problem, gs.Theory(delta=0.05, horizon=horizon)


def test_the_bound_is_the_formula_of_the_theorem():
    problem, theory = one_box(0.3, 20)
    scale = 1 + 2 / 20

    def gamma(count):
        return gs.maximum_information_gain(KERNEL, [-1], [1], count, scale)

    beta = 1.5 + 0.3 * math.sqrt(2 * (gamma(19) + 1 + math.log(1 / 0.05)))
    a = 2 * (2 * 3)  # printed and corrected alike: one white node of slope 3 behind the box
    expected = 2 * a * beta * math.sqrt((20 + 2) * gamma(20))
    for form in ("printed", "corrected"):
        guarantee = gs.Guarantee(problem, theory, form=form)
        assert guarantee.regret(20) == pytest.approx(expected)
        assert guarantee.best_iterate(20) == pytest.approx(expected / 20)
    # sigma^2 <= 1 / log(1 + 1 / lambda) * log(1 + sigma^2 / lambda), and A without doubling.
    factor = math.sqrt(20 * 2 * gamma(20) / math.log1p(1 / scale))
    tight = gs.Guarantee(problem, theory)
    assert tight.regret(20) == pytest.approx(2 * 3 * beta * factor)


def test_with_the_doubling_trick_the_bounds_of_the_rounds_add_up():
    problem, theory = one_box(0.0, None)
    total = 0.0
    for horizon in (1, 2, 4):
        gamma = gs.maximum_information_gain(KERNEL, [-1], [1], horizon, 1 + 2 / horizon)
        total += 2 * (2 * 2 * 3) * 1.5 * math.sqrt((horizon + 2) * gamma)
    assert gs.Guarantee(problem, theory, form="printed").regret(7) == pytest.approx(total)


def test_the_bound_on_the_best_iterate_falls_in_the_long_run():
    problem, _ = one_box(0.0, None)
    bounds = [gs.Guarantee(problem, gs.Theory(horizon=t)).best_iterate(t) for t in (30, 300, 3000)]
    assert bounds[0] > bounds[1] > bounds[2]


def test_bounds_ask_for_what_they_need():
    problem, theory = one_box(0.0, 4)
    quick = gs.Grid(11)
    practical = problem.solve(4, strategy=gs.Optimistic(solver=quick), progress=False)
    with pytest.raises(gs.ModelError, match=r"trials \[3, 4\] were not.*exploit=False"):
        practical.regret_bound()
    with pytest.raises(gs.ModelError, match=r"theory mode, and this study had beta=2"):
        practical.regret_bound(realized=False)
    with pytest.raises(gs.ModelError, match=r"beta=gs\.Theory\(\)\)$"):  # it has no realized=
        practical.guarantee()
    pure = problem.solve(4, strategy=gs.Optimistic(solver=quick, exploit=False), progress=False)
    assert pure.regret_bound() > 0
    rival = problem.solve(
        3, strategy=gs.CONFIG(solver=quick, kernel=KERNEL, exploit=False), progress=False
    )
    with pytest.raises(gs.ModelError, match=r"are for gs\.Optimistic, not for CONFIG"):
        rival.discrepancy_bounds()
    with pytest.raises(gs.ModelError, match=r"pass a gs\.Problem and a gs\.Theory\(\)"):
        gs.Guarantee(problem, 2.0)
    with pytest.raises(gs.ModelError, match="form='loose': use 'tight', 'corrected' or 'printed'"):
        pure.regret_bound("loose")
    with pytest.raises(gs.ModelError, match="use 'separate' or 'chained'"):
        gs.Guarantee(problem, theory, evaluation="both")
    x = gs.Variable("x", 1, lower=-1, upper=1)
    with pytest.raises(gs.ModelError, match="no black box, so there is nothing to guarantee"):
        gs.Guarantee(gs.Problem(minimize=x[0]), theory)
    with pytest.raises(gs.ModelError, match="a bound for 0 trials: pass a whole number"):
        gs.Guarantee(problem, theory).regret(0)
    x = gs.Variable("x", 1, lower=-1, upper=1)
    inner = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(0)), "inner", 1.0)
    outer = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(1)), "outer", 1.0)
    nested = gs.Problem(minimize=outer(inner(x) ** 2))
    with pytest.raises(gs.ModelError, match=r"the range of the inputs of black box 'outer'"):
        gs.Guarantee(nested, theory)


def test_bounds_beforehand_need_every_box_at_its_optimistic_state():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    wide = {"input_lower": -1, "input_upper": 1}
    inner = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(0)), "inner", 1.0)
    outer = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(1)), "outer", 1.0, **wide)
    stuck = box(
        KnownNorm(KERNEL, 1.0, np.random.default_rng(1)), "stuck", 1.0, separable=False, **wide
    )
    nested = gs.Problem(minimize=outer(inner(x)))
    theory = gs.Theory(horizon=3)
    assert gs.Guarantee(nested, theory).regret(3) > 0
    with pytest.raises(gs.ModelError, match=r"'outer' evaluated at its optimistic state"):
        gs.Guarantee(nested, theory, evaluation="chained")
    with pytest.raises(gs.ModelError, match=r"'stuck' evaluated at its optimistic state"):
        gs.Guarantee(gs.Problem(minimize=stuck(inner(x))), theory)
    one_layer = gs.Problem(minimize=inner(x))
    assert gs.Guarantee(one_layer, theory, evaluation="chained").regret(3) > 0
    strategy = gs.Optimistic(beta=theory, solver=gs.Grid(5))
    chained = nested.solve(3, strategy=strategy, evaluation="chained", progress=False)
    assert chained.regret_bound() > 0  # what was met is known
    with pytest.raises(gs.ModelError, match="only the realized bounds"):
        chained.regret_bound(realized=False)


def noisy_study_with_given_answers():
    """Forty noisy answers at one end of the domain, then trials, then an answer nobody needs."""
    problem, _ = one_box(1.0, None)
    theory = gs.Theory(delta=0.05, horizon=3, gain="observed")
    study = gs.Study(problem, strategy=gs.Optimistic(beta=theory, solver=gs.Grid(11)))
    inputs = np.linspace(0.5, 1.5, 40)  # some lie outside the domain
    with pytest.warns(gs.GrisailleWarning, match="outside the bounds of the variables"):
        study.observe("f", inputs, np.zeros(40))
    study.run(2, progress=False)
    study.observe("f", [-1.0], [0.0])
    study.run(3, progress=False)
    return study, theory


def test_bounds_know_the_answers_that_were_given_before_each_trial():
    study, theory = noisy_study_with_given_answers()
    result = study.result()
    factors = gs.Guarantee(study.problem, theory).amplification
    bounds = result.discrepancy_bounds()
    for t, given in enumerate((40, 40, 41)):
        known = gs.History(result.history.trials[:t], result.history.loose[:given])
        bands = theory.plausible_set(study.problem.program, known)
        optimum = result.history.trials[t].suggestion.optimum
        assert bounds[t] == pytest.approx(factors @ bands.reaches(*optimum))


def test_the_promised_bound_has_the_beta_of_the_answers_that_were_given():
    study, theory = noisy_study_with_given_answers()
    result = study.result()
    assert result.regret_bound() <= result.regret_bound(realized=False)
    program, (f,) = study.problem.program, study.problem.boxes
    inputs = np.array([seen.inputs for seen in result.history.loose])
    promised = theory.beta(program, f, 2, theory.round(0), inputs)
    for trial in result.history:
        used = theory.plausible_set(program, result.history.before(trial)).beta["f"]
        assert used.numpy() <= promised
    alone = gs.Guarantee(study.problem, theory).regret(3)
    assert result.regret_bound(realized=False) / alone == pytest.approx(
        float((promised / theory.beta(program, f, 2, theory.round(0)))[0])
    )


def test_trials_of_a_hopeless_problem_have_no_regret_bound():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(0)), "f", 1.0)
    problem = gs.Problem(minimize=x[0], subject_to=[f(x) + 5 <= 0])
    strategy = gs.Optimistic(beta=gs.Theory(horizon=2), solver=gs.Grid(5))
    result = problem.solve(2, strategy=strategy, progress=False)
    for realized in (True, False):
        with pytest.raises(gs.ModelError, match=r"trials \[1, 2\] found no plausible feasible"):
            result.violation_bounds(realized=realized)


def test_recommended_points_are_covered_by_no_theorem():
    problem, _ = one_box(0.0, None)
    theory = gs.Theory(regularization=1e-6)
    strategy = gs.Optimistic(beta=theory, solver=gs.Grid(11), exploit=True)
    result = problem.solve(4, strategy=strategy, progress=False)
    assert "recommended" in {str(t.suggestion.kind) for t in result.history}
    with pytest.raises(gs.ModelError, match="were not; solve with exploit=False"):
        result.regret_bound(realized=False)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (np.sign, "may jump with a black box's output"),
        (np.floor, "may jump with a black box's output"),
        (lambda y: np.sqrt(y + 1.0), "infinitely steep somewhere in the range"),
        (lambda y: np.sqrt(1.0 - y), "infinitely steep somewhere in the range"),
    ],
)
def test_what_has_no_lipschitz_constant_has_no_bound(known, message):
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(0)), "f", 1.0)
    with pytest.raises(gs.ModelError, match=message):
        gs.Guarantee(gs.Problem(minimize=known(f(x)) + x[0]), gs.Theory())
    harmless = gs.Problem(minimize=f(x) + np.sign(x[0]) + x[0] ** 2)
    guarantee = gs.Guarantee(harmless, gs.Theory())
    assert guarantee.known.source == "exact"
    assert guarantee.amplification == pytest.approx(2)


def test_a_result_tells_where_its_bounds_come_from():
    problem, theory = one_box(0.0, 3)
    strategy = gs.Optimistic(beta=theory, solver=gs.Grid(11))
    result = problem.solve(3, strategy=strategy, progress=False)
    assert result.bound_sources() == {"f": "norm bound", "known parts": "exact"}


def test_a_lipschitz_constant_that_the_answers_contradict_is_refused():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = gs.BlackBox(lambda x: 3 * x[0], name="f", noise=0, kernel=KERNEL, lipschitz=1.0)
    strategy = gs.Optimistic(solver=gs.Grid(11), exploit=False)
    with pytest.raises(
        gs.AssumptionError, match=r"output 0 of black box 'f' changes.*correct the declaration"
    ) as error:
        gs.Problem(minimize=f(x)).solve(3, strategy=strategy, progress=False)
    with pytest.raises(gs.AssumptionError, match="output 0 of black box 'f' changes"):
        error.value.result.regret_bound()


def test_numpy_integers_count_too():
    problem, theory = one_box(0.1, None)
    guarantee = gs.Guarantee(problem, theory)
    assert guarantee.regret(np.int64(5)) == guarantee.regret(5)
    assert gs.maximum_information_gain(KERNEL, -1, 1, np.int64(5), 1.0) > 0


def test_printing_a_guarantee_tells_the_constants_and_their_sources():
    problem, theory = one_box(0.1, 5)
    text = repr(gs.Guarantee(problem, theory))
    assert "probability 0.95" in text
    assert "norm bound" in text
    assert "slopes of known parts: exact" in text
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(0)), "f", 1.0)
    assert "bounds are estimates too" in repr(gs.Guarantee(gs.Problem(minimize=f(x) ** 2), theory))
