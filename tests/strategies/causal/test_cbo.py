"""Causal Bayesian optimization: the prior, the process, the rule to watch, the choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, stats

import grisaille as gs
from grisaille.belief.failures import FailedInterventions
from grisaille.belief.processes.effects import EffectData, EffectProcess, learned_effect
from grisaille.lab.problems.causal import complete_graph, toy_graph
from grisaille.language.causal.model import distinct_sets
from grisaille.records import Failure, History, Pending, Situation, Suggestion
from grisaille.reductions.interventions import Interventions
from grisaille.strategies.causal.cbo import (
    chance_of_watching,
    coverage,
    log_feasibility,
    log_improvement,
    log_worth,
)
from grisaille.strategies.causal.effects import CausalKnowledge, CausalPrior
from grisaille.study.writer import evaluated

pytestmark = pytest.mark.slow


QUICK = gs.MultiStart(starts=2, samples=32, iterations=8, again=False)


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def box(name):
    return gs.BlackBox(None, name=name, process_noise=True)


def chain_run(values, generator):
    """X -> Z -> Y with a linear and a quadratic mechanism; E[Z | do(X)] = X + 1."""
    e = 0.2 * generator.standard_normal(3)
    x = values.get("X", e[0])
    z = values.get("Z", x + 1 + e[1])
    return {"X": x, "Z": z, "Y": (z - 1.5) ** 2 + e[2]}


def chain(sets="xz", rows=30, runs=5, subject_to=None):
    """The problem over interventions; an "o" among the sets stands for watching."""
    x = gs.exogenous(name="X")
    z = box("Z")(x)
    known = {"x": [gs.do(x, lower=-3, upper=3)], "z": [gs.do(z, lower=-2, upper=4)], "o": []}
    generator = np.random.default_rng(0)
    table = [chain_run({}, generator) for _ in range(rows)]
    return gs.causal_problem(
        gs.Problem(minimize=box("Y")(z), subject_to=[] if subject_to is None else subject_to(x, z)),
        [known[s] for s in sets],
        system=chain_run,
        runs=runs,
        observations={n: [row[n] for row in table] for n in "XZY"} if rows else None,
        seed=0,
    )


def empty(problem, **options):
    return Situation(problem, History(), 0, "chained", **options)


def after(problem, trials, strategy=None, **options):
    strategy = gs.SobolSearch() if strategy is None else strategy
    history = problem.solve(trials, strategy=strategy, progress=False).history
    return Situation(problem, history, 0, "chained", **options)


# --- the prior ---------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def toy():
    known = toy_graph(0, observations=60)
    return known, CausalKnowledge(known.problem.causal, History())


def test_the_causal_prior_is_the_integral_of_do_calculus(toy):
    _, knowledge = toy
    prior = knowledge.effects(0).prior  # the set {X}
    mean, deviation = prior.moments(numbers(-1.5, -0.5, 0.7).unsqueeze(1))
    mechanism = {n: prior.beliefs[n] for n in "ZY"}
    noise = {n: float(m.hyperparameters.noise[0]) for n, m in mechanism.items()}
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    for i, x in enumerate((-1.5, -0.5, 0.7)):
        center, doubt = (float(v) for v in mechanism["Z"].predict(numbers(x).unsqueeze(1)))
        z = center + np.sqrt(doubt**2 + noise["Z"]) * nodes
        curve, doubts = (v[:, 0].numpy() for v in mechanism["Y"].predict(torch.tensor(z[:, None])))
        expected = weights @ curve / weights.sum()
        squares = weights @ (curve**2 + doubts**2 + noise["Y"]) / weights.sum()
        assert mean[i, 0].item() == pytest.approx(expected, abs=0.05)
        assert deviation[i, 0].item() == pytest.approx(np.sqrt(squares - expected**2), rel=0.06)


def test_the_causal_prior_is_near_the_truth_where_much_was_watched(toy):
    known, knowledge = toy
    rows = known.problem.causal.observations
    places = np.quantile(rows["Z"], [0.3, 0.5, 0.7])
    mean, _ = knowledge.effects(1).prior.moments(torch.tensor(places[:, None]))
    assert np.abs(mean[:, 0].numpy() - (np.cos(places) - np.exp(-places / 20))).max() < 0.4


def test_the_system_as_it_is_has_the_mean_that_was_watched(toy):
    known, knowledge = toy
    assert knowledge.untouched()[0] == pytest.approx(
        known.problem.causal.observations["Y"].mean(), abs=0.15
    )


def test_runs_that_no_intervention_reaches_are_the_same_for_all_of_them():
    problem = chain()
    knowledge = CausalKnowledge(problem.causal, History())
    program = problem.causal.intervened(1).program
    beliefs = knowledge.effects(1).prior.beliefs
    x, z = (c.target for s in problem.causal.sets for c in s)
    both = gs.intervene(gs.Problem(minimize=x * z), problem.causal.sets[1][0]).program
    runs = CausalPrior(both, beliefs).runs(numbers(1.0, 2.0).unsqueeze(1))[..., 0]
    assert torch.allclose(2 * runs[:, 0], runs[:, 1])
    assert program.size == 1


# --- the process -------------------------------------------------------------------------------
def effect_data(n=7, d=2, noise=True):
    generator = np.random.default_rng(3)
    inputs = generator.uniform(size=(n, d))
    return EffectData(
        inputs,
        np.sin(5 * inputs.sum(1)) + 2,
        inputs[:, 0],
        0.3 + inputs[:, 1],
        np.linspace(0.01, 0.05, n) if noise else None,
    )


def dense_covariance(a, b, s, t, hyperparameters):
    scaled = (a[:, None] - b[None]) / np.array(hyperparameters.lengthscale)
    radial = np.exp(-0.5 * (scaled**2).sum(-1))
    return hyperparameters.variance * radial + np.outer(s, t)


def test_the_causal_process_equals_a_dense_computation():
    data = effect_data()
    hyperparameters = learned_effect(data, 1.3)
    places = np.random.default_rng(5).uniform(size=(4, 2))
    m, s = places[:, 0], 0.3 + places[:, 1]
    gram = dense_covariance(
        data.inputs, data.inputs, data.deviation, data.deviation, hyperparameters
    ) + np.diag(data.noise)
    cross = dense_covariance(data.inputs, places, data.deviation, s, hyperparameters)
    mean = m + cross.T @ np.linalg.solve(gram, data.outputs - data.mean)
    prior = dense_covariance(places, places, s, s, hyperparameters)
    variance = np.diag(prior - cross.T @ np.linalg.solve(gram, cross))
    found = EffectProcess(hyperparameters, data).predict(*map(torch.tensor, (places, m, s)))
    assert found[0].numpy() == pytest.approx(mean, abs=1e-6)
    assert found[1].numpy() == pytest.approx(np.sqrt(variance), abs=1e-6)


@pytest.mark.parametrize("known_noise", [True, False])
def test_hyperparameters_have_the_greatest_posterior_density(known_noise):
    data = effect_data(noise=known_noise)
    found = learned_effect(data, 1.3)

    def density(lengthscale, variance, noise):
        candidate = replace(found, lengthscale=tuple(lengthscale), variance=variance)
        gram = dense_covariance(
            data.inputs, data.inputs, data.deviation, data.deviation, candidate
        ) + np.diag(data.noise if known_noise else np.full(len(data), noise))
        value = stats.multivariate_normal(data.mean, gram).logpdf(data.outputs)
        value += stats.norm(np.log(0.07 * np.sqrt(2)), 0.35).logpdf(np.log(lengthscale)).sum()
        value += stats.norm(np.log(1.3**2), 0.35).logpdf(np.log(variance))
        return value + (0 if known_noise else stats.norm(np.log(1.3**2), 1).logpdf(np.log(noise)))

    best = density(np.array(found.lengthscale), found.variance, found.noise)
    generator = np.random.default_rng(0)
    for _ in range(40):
        factors = np.exp(generator.normal(0, 0.2, 4))
        other = density(
            np.array(found.lengthscale) * factors[:2],
            found.variance * factors[2],
            found.noise * factors[3],
        )
        assert other <= best + 1e-6


def test_without_data_the_process_is_its_prior():
    data = effect_data(n=0)
    process = EffectProcess(learned_effect(data, 2.0), data)
    mean, deviation = process.predict(torch.rand(3, 2).double(), numbers(1, 2, 3), numbers(0, 1, 2))
    assert mean.tolist() == [1, 2, 3]
    assert deviation.numpy() == pytest.approx(np.sqrt([4, 5, 8]))


# --- the acquisition ---------------------------------------------------------------------------
@pytest.mark.parametrize(("mean", "deviation", "best"), [(0.3, 0.5, 0.1), (2, 0.4, 0), (-1, 1, 2)])
def test_expected_improvement_is_its_integral(mean, deviation, best):
    law = stats.norm(mean, deviation)
    exact = integrate.quad(lambda f: (best - f) * law.pdf(f), best - 12 * deviation, best)[0]
    found = log_improvement(numbers(mean), numbers(deviation), best).exp().item()
    assert found == pytest.approx(exact, rel=1e-6)


def test_the_logarithm_of_a_hopeless_improvement_has_a_slope():
    mean = numbers(*np.linspace(1, 3e4, 50)).requires_grad_()
    value = log_improvement(mean, torch.ones_like(mean), 0.0)
    (slope,) = torch.autograd.grad(value.sum(), mean)
    assert (torch.diff(value) < 0).all()
    assert slope.numpy() == pytest.approx(-np.maximum(1.8, mean.detach().numpy()), rel=0.1)


def test_news_is_worth_less_the_noisier_it_is():
    for deviation, noise in [(0.5, 0.2), (2.0, 1.0)]:
        exact = 1 - noise / np.hypot(deviation, noise)
        assert log_worth(numbers(deviation), noise).exp().item() == pytest.approx(exact)
    assert log_worth(numbers(1e-3), 0.0).item() == pytest.approx(0)


def test_feasibility_is_the_product_of_normal_probabilities():
    found = log_feasibility(numbers(0.3, -1).unsqueeze(0), numbers(0.5, 2).unsqueeze(0))
    assert found.exp().item() == pytest.approx(stats.norm.cdf(-0.6) * stats.norm.cdf(0.5))


def test_of_two_sets_with_the_same_effect_the_cheaper_one_is_tried():
    x, w = gs.exogenous(name="X"), gs.exogenous(name="W")
    y = box("Y")(x, w)
    generator = np.random.default_rng(1)
    rows = {n: generator.standard_normal(25) for n in "XW"}
    rows["Y"] = rows["X"] ** 2 - 2 * rows["X"] + 0.1 * generator.standard_normal(25)
    a, b = gs.do(x, lower=-2, upper=2), gs.do(w, lower=-0.1, upper=0.1)
    problem = gs.causal_problem(
        gs.Problem(minimize=y), [[a, b], [a]], system=lambda v, g: {}, observations=rows
    )
    suggestion = gs.CBO().suggest(empty(problem))
    assert problem.causal.read(suggestion.x)[0] == 1
    assert problem.causal.describe(suggestion.x)["X"] > 0.3


class Fixed(gs.SobolSearch):
    """Tries one point."""

    __slots__ = ("x",)

    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def suggest(self, situation):
        return Suggestion(gs.TrialKind.RANDOM, self.x)


# --- watching ----------------------------------------------------------------------------------
def test_coverage_is_the_volume_of_the_hull_in_the_domain():
    triangle = np.array([[0, 0], [2, 0], [0, 1], [0.5, 0.2]])
    assert coverage(triangle, np.zeros(2), np.array([4, 2])) == pytest.approx(1 / 8)
    assert coverage(triangle[:, :1], np.zeros(1), np.full(1, 4)) == pytest.approx(0.5)
    line = np.stack([np.arange(5.0)] * 2, 1)
    assert coverage(line, np.zeros(2), np.ones(2)) == 0
    assert coverage(np.zeros((0, 2)), np.zeros(2), np.ones(2)) == 0
    assert coverage(10 * triangle, np.zeros(2), np.ones(2)) == 1


def test_the_chance_of_watching_falls_with_the_rows_there_are():
    assert chance_of_watching(0.2, 100, 150) == pytest.approx(0.2 * 150 / 100)
    assert chance_of_watching(0.2, 149, 150) == pytest.approx(0.2 * 150 / 149)
    assert chance_of_watching(1.0, 150, 150) == 0
    assert chance_of_watching(0.0, 0, 150) == 1


def test_a_system_that_nothing_is_known_of_is_watched_first():
    problem = chain("oxz", rows=0, runs=8)
    strategy = gs.CBO(most_observations=8, solver=QUICK)
    assert strategy.suggest(empty(problem)).kind is gs.TrialKind.OBSERVING
    situation = after(problem, 2, strategy)
    watched, tried = situation.history
    assert watched.suggestion.kind is gs.TrialKind.OBSERVING
    assert tried.suggestion.kind is gs.TrialKind.ACQUIRED
    knowledge = CausalKnowledge(problem.causal, situation.history)
    assert knowledge.watched.counts() == {"X": 8, "Z": 8, "Y": 8}
    assert len(knowledge.watched_rows()[0]) == 8


def test_what_is_watched_joins_what_was_given():
    problem = chain("oxz", rows=10, runs=3)
    x = problem.causal.design(0, np.zeros(0))
    history = problem.solve(1, strategy=Fixed(x), progress=False).history
    knowledge = CausalKnowledge(problem.causal, history)
    assert len(knowledge.watched_rows()[0]) == 13


def test_nothing_is_watched_where_no_set_is_empty():
    situation = after(chain(rows=0), 5, gs.CBO(solver=QUICK))
    kinds = [t.suggestion.kind for t in situation.history]
    assert kinds == [gs.TrialKind.INITIAL] * 4 + [gs.TrialKind.ACQUIRED]


# --- the strategies ----------------------------------------------------------------------------
def test_the_same_situation_gives_the_same_answer_and_a_study_replays(tmp_path):
    problem = chain("oxz", rows=12)
    situation = after(problem, 3, gs.CBO(solver=QUICK))
    first, second = gs.CBO(solver=QUICK).suggest(situation), gs.CBO(solver=QUICK).suggest(situation)
    assert first.x.tolist() == second.x.tolist()
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    settings = {"name": "s", "storage": storage, "strategy": gs.CBO(solver=QUICK), "seed": 1}
    with gs.Study(problem, **settings) as study:
        study.run(3, progress=False)
        for trial in study.history:
            assert study.replay(trial.number).x.tolist() == trial.x.tolist()


def test_cbo_finds_the_best_intervention():
    problem = chain(runs=20)
    result = problem.solve(8, strategy=gs.CBO(solver=QUICK), progress=False)
    set_values = problem.causal.describe(result.history.trials[best(problem, result)].x)
    z = set_values.get("Z", set_values.get("X", 0.0) + 1)
    assert z == pytest.approx(1.5, abs=0.15)
    assert result.lower_bound is None or np.isneginf(result.lower_bound)


def best(problem, result):
    return gs.ConstrainedCBO().incumbent(Situation(problem, result.history, 0)).position


def test_cbo_maximizes_as_well():
    x = gs.exogenous(name="X")
    generator = np.random.default_rng(1)
    rows = {"X": generator.normal(0, 1, 20)}
    rows["Y"] = -((rows["X"] - 1) ** 2)
    problem = gs.causal_problem(
        gs.Problem(maximize=box("Y")(x)),
        [gs.do(x, lower=-3, upper=3)],
        system=lambda values, g: {**values, "Y": -((values["X"] - 1) ** 2) + 0.01 * g.normal()},
        observations=rows,
        seed=0,
    )
    result = problem.solve(5, strategy=gs.CBO(solver=QUICK), progress=False)
    trial = result.history.trials[best(problem, result)]
    assert problem.causal.describe(trial.x)["X"] == pytest.approx(1, abs=0.3)


def test_constrained_cbo_leaves_an_infeasible_start():
    # Untouched, Z is about 1; it must be at least 2, where Y is larger.
    problem = chain(runs=20, subject_to=lambda x, z: [z >= 2, x <= 2.5])
    result = problem.solve(6, strategy=gs.ConstrainedCBO(solver=QUICK), progress=False)
    incumbent = gs.ConstrainedCBO().incumbent(Situation(problem, result.history, 0))
    assert incumbent.feasible
    assert incumbent.violation == 0
    assert incumbent.objective < 0.45  # 0.25 at Z = 2
    violated = [t.constraints[0] > 0.3 for t in result.history]
    assert sum(violated) <= 3


def test_a_constraint_on_what_is_set_is_kept_exactly():
    problem = chain("z", runs=20, subject_to=lambda x, z: [z >= 2.25])
    history = problem.solve(3, strategy=gs.ConstrainedCBO(solver=QUICK), progress=False).history
    assert all(t.constraints[0] <= 1e-9 for t in history)
    assert min(problem.causal.describe(t.x)["Z"] for t in history) == pytest.approx(2.25)


def test_what_is_under_way_or_failed_is_not_suggested_again():
    problem = chain()
    situation = after(problem, 3, gs.CBO(solver=QUICK))
    first = gs.CBO(solver=QUICK).suggest(situation)
    waiting = replace(situation, pending=(Pending(first),))
    failed = Failure("system", first.x, "it broke", 5, first.x)
    broken = replace(situation, history=replace(situation.history, failures=(failed,)))
    for other in (waiting, broken):
        assert np.abs(gs.CBO(solver=QUICK).suggest(other).x - first.x).max() > 1e-2


def breaking(fails, **options):
    """The chain, with a system that fails for some values."""

    def run(values, generator):
        if fails(values):
            raise ValueError("out of range")
        return chain_run(values, generator)

    problem = chain(**options)
    model, sets = problem.causal.model, [list(s) for s in problem.causal.sets]
    rows = problem.causal.observations
    known = rows if len(rows["X"]) else None
    return gs.causal_problem(
        model, sets, system=run, runs=problem.causal.runs, observations=known, seed=0
    )


@pytest.mark.parametrize(
    ("strategy", "subject_to"),
    [(gs.CBO(solver=QUICK), None), (gs.ConstrainedCBO(solver=QUICK), lambda x, z: [z <= 1.5])],
)
def test_a_region_where_the_system_fails_is_left_after_few_trials(strategy, subject_to):
    # The best value, 1.5, is in the region; the best outside is its boundary.
    problem = breaking(lambda v: v.get("Z", 0) > 1.2, sets="z", runs=10, subject_to=subject_to)
    result = problem.solve(9, strategy=strategy, progress=False)
    failed = [problem.causal.describe(f.x)["Z"] for f in result.failures]
    tried = sorted(problem.causal.describe(t.x)["Z"] for t in result.history)
    assert 1 <= len(failed) <= 5
    assert np.diff(sorted(failed)).min(initial=1.0) > 0.05
    assert len(tried) >= 4
    assert tried[-1] > 0.6


def avoided(problem, history, useless=()):
    """What the first set avoids."""
    link = Interventions(problem, problem.causal, 0)
    inside = link.down(replace(empty(problem), history=history))
    return FailedInterventions(link.problem.program, inside.history, useless)


def test_trials_without_a_value_are_kept_away_from_like_failures():
    problem = chain("z")
    causal = problem.causal
    points = [causal.design(0, np.array([z])) for z in (-1.0, 1.0, 3.0)]
    trials = [Suggestion(gs.TrialKind.RANDOM, x) for x in points]
    history = History(tuple(evaluated(problem, t, i) for i, t in enumerate(trials)))
    failed = avoided(problem, history, useless=[2])
    # In ranges of 6: at 1.6 an answer is 0.6 away and the useless trial 1.4, at 1.7 0.7 and 1.3.
    excess = failed.excess(numbers(1.6, 1.7).unsqueeze(1))
    assert excess.numpy() == pytest.approx([(1.2 - 1.4) / 6, (1.4 - 1.3) / 6])
    assert failed.excess(numbers(3.0).unsqueeze(1)).item() > 0


def test_without_an_answer_the_next_trial_goes_far_from_a_failure():
    problem = chain("z")
    x = problem.causal.design(0, np.array([4.0]))
    history = History(failures=(Failure("system", x, "it broke", 0, x),))
    failed = avoided(problem, history)
    assert failed.excess(numbers(0.9, 1.1).unsqueeze(1)).numpy() == pytest.approx(
        [-0.1 / 6, 0.1 / 6], abs=0.01
    )
    suggestion = gs.CBO(solver=QUICK).suggest(replace(empty(problem), history=history))
    assert problem.causal.describe(suggestion.x)["Z"] <= 1.05


def test_an_initial_point_that_failed_is_followed_by_another_one():
    problem = breaking(lambda v: True, sets="z", rows=0)
    with pytest.raises(gs.EvaluationError, match="all 5 trials failed") as error:
        problem.solve(8, strategy=gs.CBO(), progress=False)
    study = gs.Study(problem, strategy=gs.CBO())
    with pytest.raises(gs.EvaluationError):
        study.run(8, progress=False)
    places = [problem.causal.describe(f.x)["Z"] for f in study.failures]
    assert len(set(places)) == len(places) == 5
    assert "out of range" in str(error.value)


def test_a_system_that_fails_when_it_is_watched_is_intervened_in():
    problem = breaking(lambda v: not v, sets="oz", rows=0, runs=1)
    result = problem.solve(5, strategy=gs.CBO(solver=QUICK), progress=False)
    assert len(result.failures) == 1
    assert len(result.history) == 4


@pytest.mark.parametrize(
    ("strategy", "subject_to"),
    [(gs.CBO(solver=QUICK), None), (gs.ConstrainedCBO(solver=QUICK), lambda x, z: [z <= 1.5])],
)
def test_trials_that_are_asked_for_at_once_are_spread_out(strategy, subject_to):
    problem = chain("z", subject_to=subject_to)
    pending = ()
    for _ in range(4):
        suggestion = strategy.suggest(empty(problem, pending=pending))
        pending = (*pending, Pending(suggestion))
    places = sorted(problem.causal.describe(p.suggestion.x)["Z"] for p in pending)
    assert np.diff(places).min() > 0.05


@pytest.mark.parametrize("runs", [1, 5])
def test_a_known_part_without_a_value_somewhere_does_not_stop_a_study(runs):
    x = gs.exogenous(lambda: 0.0, name="X", noise=0.3)
    y = gs.BlackBox(lambda x: x + 1, name="Y", noise=0.5, process_noise=True)(x)
    sets = [gs.do(x, lower=-3, upper=3), []]
    problem = gs.causal_problem(gs.Problem(minimize=np.log(y)), sets, runs=runs, seed=0)
    result = problem.solve(8, strategy=gs.CBO(solver=QUICK), progress=False)
    assert len(result.history) == 8
    set_values = [problem.causal.describe(t.x) for t in result.history]
    useless = [
        v["X"]
        for v, t in zip(set_values, result.history, strict=True)
        if v and not np.isfinite(t.objective)
    ]
    assert np.diff(sorted(useless)).min(initial=1.0) > 0.05


def test_the_causal_prior_averages_the_runs_that_have_a_value():
    problem = chain("z")
    beliefs = CausalKnowledge(problem.causal, History()).effects(0).prior.beliefs
    (do,) = problem.causal.sets[0]
    y = problem.causal.model.objective
    plain = gs.intervene(gs.Problem(minimize=y - do.target), do).program
    rooted = gs.intervene(
        gs.Problem(minimize=np.sqrt(y - do.target), subject_to=[np.sqrt(do.target) <= 2]), do
    ).program
    values = numbers(-1.0, 0.8, 1.5, 3.9, 4.0).unsqueeze(1)
    runs = CausalPrior(plain, beliefs).runs(values)[..., 0].numpy()
    mean, deviation = CausalPrior(rooted, beliefs).moments(values)
    assert torch.isfinite(mean[:, 0]).all()
    assert torch.isfinite(deviation[:, 0]).all()
    some = (runs > 0).any(0)
    assert ((runs > 0).any(0) & (runs < 0).any(0)).any()
    for i in np.flatnonzero(some):
        roots = np.sqrt(runs[runs[:, i] > 0, i])
        assert mean[i, 0].item() == pytest.approx(roots.mean())
        assert deviation[i, 0].item() == pytest.approx(roots.std())
    # What reads no mechanism is known to have no value.
    assert torch.isnan(mean[0, 1])
    assert mean[3, 1].item() == pytest.approx(np.sqrt(3.9) - 2)


def test_a_causal_prior_without_any_value_is_neutral():
    problem = chain("z")
    beliefs = CausalKnowledge(problem.causal, History()).effects(0).prior.beliefs
    (do,) = problem.causal.sets[0]
    y = problem.causal.model.objective
    program = gs.intervene(gs.Problem(minimize=np.log(y - 1e6)), do).program
    mean, deviation = CausalPrior(program, beliefs).moments(numbers(0.0, 1.0).unsqueeze(1))
    assert mean.tolist() == [[0.0], [0.0]]
    assert deviation.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("solver", ["x", gs.MultiStart])
@pytest.mark.parametrize("strategy", [gs.CBO, gs.ConstrainedCBO])
def test_a_solver_that_cannot_solve_is_refused(strategy, solver):
    with pytest.raises(gs.ModelError, match=rf"^{strategy.__name__}\(solver=.*pass gs.MultiStart"):
        strategy(solver=solver)


def test_cbo_says_what_it_is_not_for():
    x = gs.Variable("x", lower=0, upper=1)
    plain = gs.Problem(minimize=gs.BlackBox(lambda x: x, name="f")(x))
    with pytest.raises(gs.ModelError, match=r"CBO chooses interventions.*gs\.causal_problem"):
        gs.CBO().check(plain)
    with pytest.raises(gs.ModelError, match=r"ConstrainedCBO chooses interventions"):
        plain.solve(2, strategy=gs.ConstrainedCBO(), progress=False)
    constrained = chain(subject_to=lambda x, z: [z <= 1])
    with pytest.raises(gs.ModelError, match=r"CBO knows no constraints.*gs\.ConstrainedCBO\(\)"):
        gs.CBO().check(constrained)
    gs.ConstrainedCBO().check(constrained)
    with pytest.raises(gs.ModelError, match=r"CBO\(initial=-1\): pass a whole number"):
        gs.CBO(initial=-1)
    with pytest.raises(gs.ModelError, match=r"most_observations=1\.5"):
        gs.ConstrainedCBO(most_observations=1.5)
    assert "CBO gives none, and gs.MCBO() does" in gs.CBO().bound(empty(chain())).reason
    assert gs.CBO().learned(chain())[:3] == ["X", "Z", "Y"]


# --- sets --------------------------------------------------------------------------------------
def test_minimal_interventions_are_those_that_no_smaller_set_equals():
    problem = chain("xz")
    dos = [member for members in problem.causal.sets for member in members]
    model = problem.causal.model
    assert [[d.name for d in s] for s in gs.minimal_interventions(model, dos)] == [["X"], ["Z"]]
    complete = complete_graph(0, observations=0).problem.causal
    dos = [s[0] for s in complete.sets[:3]]
    found = ["".join(d.name for d in s) for s in gs.minimal_interventions(complete.model, dos)]
    # B acts through D and E alone, so that with both of them set it no longer does.
    assert found == ["B", "D", "E", "BD", "BE", "DE"]
    with pytest.raises(gs.ModelError, match=r"'B' is no intervention: pass what gs\.do"):
        gs.minimal_interventions(complete.model, ["B"])


def test_sets_that_equal_a_smaller_one_are_not_tried():
    problem = chain("oxz")
    x, z = problem.causal.sets[1][0], problem.causal.sets[2][0]
    model, rows = problem.causal.model, problem.causal.observations
    wider = gs.causal_problem(
        model, [[x, z], [], [z], [x]], system=chain_run, observations=rows, runs=5
    )
    assert distinct_sets(wider.causal) == [2, 3]
    assert distinct_sets(gs.causal_problem(model, [[x, z]], system=chain_run).causal) == [0]
