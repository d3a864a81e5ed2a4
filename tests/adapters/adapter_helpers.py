"""Small studies with everything that exports have to cope with."""

from __future__ import annotations

from typing import Any

import numpy as np

import grisaille as gs

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def tank(**options: Any) -> gs.Problem:
    """Two inputs, two boxes in a chain, a constraint, an objective to maximize."""
    flow = gs.Variable("flow", shape=2, lower=0, upper=2)
    mix = gs.BlackBox(
        lambda f: (f[0] + 0.5 * f[1], f[0] * f[1]), name="mix", outputs=["heat", "acid"], noise=0
    )
    yields = gs.BlackBox(lambda h: 3 - (h - 1) ** 2, name="gain", noise=0, **options)
    mixed = mix(flow)
    return gs.Problem(maximize=yields(mixed[0]), subject_to=[mixed[1] <= 0.4, flow[0] >= 0.1])


def tank_study(trials: int = 5, **options: Any) -> gs.Study:
    """A study of the tank, run a little."""
    options = {"strategy": QUICK, "seed": 1, **options}
    study = gs.Study(tank(), **options)
    study.run(trials, progress=False)
    return study


def answered(problem: gs.Problem, point: dict[str, Any]) -> dict[str, Any]:
    """The tank's answers at a point."""
    mix, gain = problem.boxes
    heat, acid = mix(np.array([point["flow[0]"], point["flow[1]"]]))
    return {**point, "heat": heat, "acid": acid, "gain": gain(heat)}
