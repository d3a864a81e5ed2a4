"""What the bench can set: temperatures in steps of half a degree, and a dose over six decades."""

import numpy as np

import grisaille as gs

celsius = gs.Variable("celsius", lower=20, upper=80, step=0.5)
dose = gs.Variable("dose", lower=1e-4, upper=1e2, log=True)  # mg, each decade as wide as another


@gs.black_box(noise=0)
def response(celsius, dose):
    warm = np.exp(-(((celsius - 51.3) / 20) ** 2))
    return warm * dose / (dose + 0.003) - 0.1 * np.log1p(dose)


effect = response(celsius, dose)
problem = gs.Problem(maximize=effect, subject_to=[celsius * dose**0.1 <= 48])
strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick

if __name__ == "__main__":
    result = problem.solve(14, strategy=strategy, seed=0, progress=False)
    print(result)
    print(problem.diagram())
    for trial in result.history:
        assert trial.x[0] * 2 == round(trial.x[0] * 2)  # 51.5, never 51.2871
    grid = np.array([(t, d) for t in np.arange(20, 80.5, 0.5) for d in np.logspace(-4, 2, 601)])
    allowed = grid[grid[:, 0] * grid[:, 1] ** 0.1 <= 48]
    best = max(response(t, d) for t, d in allowed)
    print(f"best of {len(allowed)} points on a fine grid: {best:.4f}")
    assert result.fun >= best - 0.02
