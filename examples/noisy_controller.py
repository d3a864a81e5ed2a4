"""A cascade controller: an inner loop in an outer one, both tuned in noisy experiments.

How fast the inner loop is decides how well the outer one can be tuned, so the boxes are nested.
Noise is left out, so it is learned; the result reports what is believed, not the luckiest
experiment.
"""

import numpy as np

import grisaille as gs

generator = np.random.default_rng(0)


@gs.black_box(outputs=["settling", "overshoot"])
def inner_loop(gain, integral):  # of a valve, in s and in %
    damping = (1 + gain) / (2 * np.sqrt(gain * integral))
    settling = 4 / (1 + gain) * (1 + 0.3 * (damping - 0.8) ** 2)
    overshoot = 30 * np.exp(-1.5 * damping)
    return np.array([settling, overshoot]) + generator.normal(0, [0.02, 0.3])


@gs.black_box
def outer_loop(settling, gain):  # of a temperature around it: the error after a disturbance
    ideal = 3 / (1 + settling)
    return 2 + settling + 0.8 * (gain - ideal) ** 2 + generator.normal(0, 0.05)


inner = gs.Variable("inner", shape=2, lower=[0.5, 0.2], upper=[6, 8])  # gain, integral action
outer = gs.Variable("outer", lower=0.2, upper=4)  # gain
valve = inner_loop(inner[0], inner[1])
error = outer_loop(valve["settling"], outer)
problem = gs.Problem(minimize=error + 0.05 * inner[0], subject_to=[valve["overshoot"] <= 12])

if __name__ == "__main__":
    result = problem.solve(trials=16, seed=0, evaluation="chained", progress=False)
    print(result)
    print(
        f"overshoot {result[valve['overshoot']]:.1f} %, settling {result[valve['settling']]:.2f} s"
    )
