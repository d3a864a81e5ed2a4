"""Noisy observations: the result reports the posterior mean, not the luckiest sample."""

import numpy as np

import grisaille as gs

generator = np.random.default_rng(0)


def measure(x):
    return np.cos(2 * x) + 0.3 * x + 0.1 * generator.standard_normal()


x = gs.Variable("x", lower=-3, upper=3)
response = gs.BlackBox(measure, name="response")  # noise=None, so it is learned
problem = gs.Problem(minimize=response(x))

if __name__ == "__main__":
    result: gs.Result = problem.solve(30, seed=0, progress=False)
    luckiest = min(trial.objective for trial in result.history)
    print(result)
    print(f"luckiest sample {luckiest:.3f}, reported {result.fun:.3f}")
    history: gs.History = result.history
    answers: list[gs.Observation] = list(history.observations())
    print(f"{len(answers)} measurements, the first at {answers[0].inputs}")
    assert result.status == gs.Status.MAX_TRIALS
    assert history.trials[0].suggestion.kind == gs.TrialKind.INITIAL
