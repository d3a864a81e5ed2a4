"""Causal Bayesian optimization: observe a system or intervene in it, also with a constraint."""

import numpy as np

import grisaille as gs


def one_day(values, generator):
    """One run of the real system: takes what is set, by name, and returns every variable."""
    e = 0.3 * generator.standard_normal(3)
    dose = values.get("dose", 1 + e[0])
    level = values.get("level", 2 * dose + e[1])
    return {"dose": dose, "level": level, "harm": (level - 4.0) ** 2 / 4 + e[2]}


dose = gs.exogenous(name="dose")
level = gs.BlackBox(None, name="level", process_noise=True)(dose)
harm = gs.BlackBox(None, name="harm", process_noise=True)(level)

interventions = [gs.do(dose, lower=0, upper=3), gs.do(level, lower=0, upper=6)]
model = gs.Problem(minimize=harm)
careful = gs.Problem(minimize=harm, subject_to=[level <= 3])


def problem_of(model):
    # Setting both dose and level has the same effect as setting the level. [] means: only observe.
    sets = [[], *gs.minimal_interventions(model, interventions)]
    generator = np.random.default_rng(0)
    days = [one_day({}, generator) for _ in range(20)]
    observations = {name: [day[name] for day in days] for name in days[0]}
    return gs.causal_problem(model, sets, system=one_day, runs=5, observations=observations, seed=0)


if __name__ == "__main__":
    for chosen, strategy in [(model, gs.CBO()), (careful, gs.ConstrainedCBO())]:
        problem = problem_of(chosen)
        result = problem.solve(6, strategy=strategy, seed=0, progress=False)
        watched = sum(t.suggestion.kind is gs.TrialKind.OBSERVING for t in result.history)
        print(problem.causal.describe(result.x), f"harm {result.fun:.2f}, watched {watched} times")
