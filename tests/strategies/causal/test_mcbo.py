"""MCBO: optimism about mechanisms, over interventions and under process noise."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille import problems
from grisaille.belief.learning import believe
from grisaille.belief.plausible_set import PlausibleSet, constant_widths
from grisaille.records import History, Pending, Situation, Suggestion, TrialKind
from grisaille.reductions.interventions import mechanism_history
from grisaille.study.writer import evaluated

pytestmark = pytest.mark.slow


QUICK = gs.MultiStart(starts=3, samples=64, iterations=10, again=False)


def linear_model(**options):
    """X -> Z -> Y with small noise; do(Z = 1) is best, Y = (Z - 1)^2 + e."""
    x = gs.exogenous(lambda: 0.0, name="X", noise=0.3)
    z = gs.BlackBox(lambda x: x + 3, name="Z", noise=0.1, process_noise=True)(x)
    y = gs.BlackBox(lambda z: (z - 1) ** 2, name="Y", noise=0.1, process_noise=True)(z)
    sets = [gs.do(x, lower=-1, upper=1), gs.do(z, lower=-2, upper=3)]
    return gs.causal_problem(gs.Problem(minimize=y, **options), sets, runs=4, seed=0), sets


def test_without_noise_and_interventions_it_is_optimism_along_the_chain():
    for known in (problems.drop_wave(), problems.lp_with_embedded_gp(0)):
        problem = known.problem
        mine = problem.solve(7, strategy=gs.MCBO(solver=QUICK), progress=False)
        theirs = problem.solve(
            7,
            strategy=gs.Optimistic(solver=QUICK, exploit=False),
            evaluation="chained",
            progress=False,
        )
        assert [t.x.tolist() for t in mine.history] == [t.x.tolist() for t in theirs.history]
        assert mine.lower_bound == theirs.lower_bound
        assert mine.fun == theirs.fun


def test_it_is_the_default_for_problems_over_interventions():
    problem, _ = linear_model()
    study = gs.Study(problem)
    assert study.strategy == gs.MCBO()
    assert study.strategy.learned(problem) == ["X", "Z", "Y"]
    with pytest.raises(gs.ModelError, match=r"over interventions: use gs.MCBO\(\) or gs.CBO\(\)"):
        gs.Study(problem, strategy=gs.Optimistic())


def test_it_finds_the_best_intervention_and_says_what_it_found():
    problem, _ = linear_model()
    result = problem.solve(12, strategy=gs.MCBO(solver=QUICK), progress=False)
    assert problem.causal.describe(result.x).keys() == {"Z"}
    assert result[problem.variables[2]] == pytest.approx(1.0, abs=0.2)
    assert result.fun == pytest.approx(0.0, abs=0.15)
    assert result.lower_bound <= result.fun
    kinds = [t.suggestion.kind for t in result.history]
    assert kinds[0] is TrialKind.INITIAL
    assert kinds[-1] is TrialKind.OPTIMISTIC


def test_the_suggestion_is_the_best_promise_over_all_sets_and_controls():
    problem, _ = linear_model()
    causal = problem.causal
    strategy = gs.MCBO()
    history = problem.solve(9, strategy=gs.MCBO(solver=QUICK), progress=False).history
    suggestion = strategy.suggest(Situation(problem, history, 0))
    # By brute force: each set on a grid of values and controls.
    beliefs = believe(causal.model.program, mechanism_history(causal, history))
    best = np.inf
    for number in range(2):
        program = causal.intervened(number).program
        plausible = PlausibleSet(program, beliefs, constant_widths(program, 2.0))
        unit = torch.quasirandom.SobolEngine(len(plausible.lower), seed=1).draw(2048).double()
        unit[::2, program.size :] = unit[::2, program.size :].round()
        points = plausible.lower + (plausible.upper - plausible.lower) * unit
        with torch.no_grad():
            best = min(best, float(plausible.evaluate(points)[0].min()))
    assert suggestion.bound.estimated is not None
    assert suggestion.bound.estimated <= best + 1e-6
    assert suggestion.bound.estimated >= best - 0.2


def test_mechanisms_learn_from_observations_and_from_all_runs_of_all_sets():
    problem, _ = linear_model()
    causal = problem.causal
    result = problem.solve(6, strategy=gs.MCBO(solver=QUICK), progress=False)
    known = mechanism_history(causal, result.history)
    setting_x = sum(causal.read(t.x)[0] == 0 for t in result.history)
    assert known.counts() == {"Z": 4 * setting_x, "Y": 4 * 6, "X": 4 * (6 - setting_x)}
    toy = problems.toy_graph(observations=7).problem.causal
    assert mechanism_history(toy, History()).counts() == {"X": 7, "Z": 7, "Y": 7}


def test_observational_data_make_an_initial_design_needless():
    problem = problems.toy_graph(runs=1).problem
    first = gs.MCBO(solver=QUICK).suggest(Situation(problem, History(), 0))
    assert first.kind is TrialKind.OPTIMISTIC
    bare = problems.toy_graph(runs=1, observations=0).problem
    result = bare.solve(6, strategy=gs.MCBO(solver=QUICK), progress=False)
    assert [t.suggestion.kind for t in result.history] == [
        *[TrialKind.INITIAL] * 4,
        *[TrialKind.OPTIMISTIC] * 2,
    ]
    # Only do(X) tells of the mechanism of Z.
    assert [bare.causal.read(t.x)[0] for t in result.history][:4] == [0] * 4


def test_a_mechanism_that_nothing_tells_of_is_refused_by_name():
    b = gs.exogenous(name="B")
    c = gs.BlackBox(None, name="C", process_noise=True)(b)
    y = gs.BlackBox(None, name="Y", process_noise=True)(c, gs.natural(b))
    sets = [gs.do(b, lower=0, upper=1)]
    problem = gs.causal_problem(gs.Problem(minimize=y), sets, system=lambda v, g: {})
    with pytest.raises(gs.ModelError, match=r"nothing tells the mechanism of '[BY]'"):
        gs.MCBO().check(problem)
    gs.MCBO().check(gs.causal_problem(gs.Problem(minimize=y), [*sets, []], system=lambda v, g: {}))


def test_a_trial_that_tells_nothing_of_what_it_needs_is_judged_by_what_was_observed():
    b = gs.exogenous(lambda: 0.0, name="B", noise=1.0)
    c = gs.BlackBox(lambda b: b, name="C", noise=0.1, process_noise=True)(b)
    y = gs.BlackBox(lambda c, b: c + b, name="Y", noise=0.1, process_noise=True)(c, gs.natural(b))
    sets = [gs.do(b, lower=0, upper=1), gs.do(c, lower=0, upper=1)]
    problem = gs.causal_problem(gs.Problem(minimize=y), sets, seed=0)
    x = problem.causal.design(0, np.array([0.5]))
    trial = evaluated(problem, Suggestion(TrialKind.INITIAL, x), 1)
    found = gs.MCBO().incumbent(Situation(problem, History((trial,)), 0))
    assert found.objective == trial.objective


def test_trials_under_way_move_the_next_one():
    problem = problems.toy_graph(runs=1).problem
    strategy = gs.MCBO(solver=QUICK)
    first = strategy.suggest(Situation(problem, History(), 0))
    second = strategy.suggest(Situation(problem, History(), 0, pending=(Pending(first),)))
    assert second.bound.estimated is None
    assert second.pending == 1
    assert second.x.tolist() != first.x.tolist()


def test_a_region_where_the_system_fails_is_left_after_few_trials():
    # The best value, 1, is in the region; mechanisms promise it for ever.
    known, _ = linear_model()
    causal = known.causal

    def run(values, generator):
        if values.get("Z", 3) < 1.5:
            raise ValueError("out of range")
        x = values.get("X", 0.3 * generator.standard_normal())
        z = values.get("Z", x + 3 + 0.1 * generator.standard_normal())
        return {"X": x, "Z": z, "Y": (z - 1) ** 2 + 0.1 * generator.standard_normal()}

    generator = np.random.default_rng(0)
    table = [run({}, generator) for _ in range(30)]
    rows = {name: [row[name] for row in table] for name in "XZY"}
    only_z = [list(causal.sets[1])]
    problem = gs.causal_problem(causal.model, only_z, system=run, runs=4, observations=rows, seed=0)
    result = problem.solve(9, strategy=gs.MCBO(solver=QUICK), progress=False)
    failed = sorted(problem.causal.describe(f.x)["Z"] for f in result.failures)
    tried = sorted(problem.causal.describe(t.x)["Z"] for t in result.history)
    assert 1 <= len(failed) <= 6
    assert np.diff(failed).min(initial=1.0) > 0.04
    assert len(tried) >= 3
    assert tried[0] < 2.2
    # Failures say nothing about what is plausible, so they do not change the bound.
    situation = Situation(problem, result.history, 0)
    bare = Situation(problem, History(result.history.trials), 0)
    assert gs.MCBO(solver=QUICK).bound(situation) == gs.MCBO(solver=QUICK).bound(bare)


def test_decisions_can_be_derived_again(tmp_path):
    problem = problems.toy_graph(runs=1).problem
    storage = f"sqlite:///{tmp_path}/study.db"
    with gs.Study(problem, name="toy", storage=storage, strategy=gs.MCBO(solver=QUICK)) as study:
        study.run(3, progress=False)
        again = study.replay(3)
        assert again.x.tolist() == study.history.trials[2].x.tolist()


def test_constraints_hold_for_expected_values():
    known = problems.constrained_toy_graph(runs=20)
    result = known.problem.solve(6, strategy=gs.MCBO(solver=QUICK), progress=False)
    value, violation = known.measure(result.x)
    assert result.success
    assert violation <= 0.05
    assert value <= -0.5


def test_actions_of_the_model_are_chosen_together_with_the_set():
    u = gs.Variable("u", lower=-1, upper=1)
    w = gs.exogenous(lambda: 0.0, name="W", noise=0.2)
    y = gs.BlackBox(
        lambda w, u: (w - 0.5) ** 2 + (u - 0.5) ** 2, name="Y", noise=0.05, process_noise=True
    )(w, u)
    sets = [[], gs.do(w, lower=-1, upper=1)]
    problem = gs.causal_problem(gs.Problem(minimize=y), sets, seed=0)
    result = problem.solve(14, strategy=gs.MCBO(solver=QUICK), progress=False)
    assert result[u] == pytest.approx(0.5, abs=0.3)
    assert problem.causal.describe(result.x)["W"] == pytest.approx(0.5, abs=0.35)


def test_process_noise_without_interventions_is_planned_with():
    # E[(x + e)^2 - x] has its minimum at 1/2; the value counts the variance of e.
    x = gs.Variable("x", lower=-2, upper=2)
    generator = np.random.default_rng(0)
    disturbed = gs.BlackBox(
        lambda x: x + 0.5 * generator.standard_normal(), name="z", noise=0.5, process_noise=True
    )
    z = disturbed(x)
    result = gs.Problem(minimize=z**2 - x).solve(12, strategy=gs.MCBO(solver=QUICK), progress=False)
    assert result.x == pytest.approx([0.5], abs=0.4)
    assert result.fun == pytest.approx(-0.25 + 0.25, abs=0.3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 0}, "beta=0.: beta must be a positive number"),
        ({"beta": "2"}, "beta='2'.: beta must be"),
        ({"solver": gs.MultiStart}, "pass gs.MultiStart"),
        ({"initial": 0}, "initial=0.: pass a whole number of at least 1"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(gs.ModelError, match=message):
        gs.MCBO(**options)
