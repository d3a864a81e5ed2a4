"""A mixture: fractions that sum to one, at every point that is ever tried."""

import numpy as np

import grisaille as gs

prices = np.array([1.3, 0.9, 1.6, 0.7])  # $/kg
fractions = gs.Variable("fractions", 4, lower=0, upper=1)


@gs.black_box(noise=0, lower=0)
def viscosity(fractions):  # mPa s
    pairs = 0.5 * fractions[0] * fractions[1] + 0.8 * fractions[1] * fractions[2]
    return np.exp(fractions @ np.log([0.6, 1.1, 2.4, 0.35]) + pairs)


problem = gs.Problem(
    minimize=prices @ fractions,
    subject_to={
        "everything": np.sum(fractions) == 1,
        "solvents": fractions[0] + fractions[3] <= 0.6,
        "viscosity": viscosity(fractions) >= 0.9,
    },
)

if __name__ == "__main__":
    strategy = gs.Optimistic(solver=gs.MultiStart(starts=6, samples=512))  # quick
    study = gs.Study(problem, strategy=strategy, seed=0)
    study.enqueue(fractions=[0.25, 0.25, 0.25, 0.25])  # a blend of our own
    result = study.run(14, progress=False)
    print(result)
    tried = np.array([trial.x for trial in result.history])
    print(f"largest |sum - 1| of {len(tried)} points: {np.abs(tried.sum(1) - 1).max():.1e}")
    assert np.abs(tried.sum(1) - 1).max() < 1e-12
    assert (tried[:, 0] + tried[:, 3]).max() <= 0.6 + 1e-6
    draws = np.random.default_rng(0).dirichlet(np.ones(4), 200_000)
    draws = draws[draws[:, 0] + draws[:, 3] <= 0.6]
    feasible = [prices @ f for f in draws if viscosity(f) >= 0.9]
    print(f"best of {len(feasible)} feasible blends at random: {min(feasible):.4f}")
    assert result.fun <= min(feasible)
    try:
        study.enqueue(fractions=[0.5, 0.5, 0.5, 0])
    except gs.ModelError as error:
        print(error)
