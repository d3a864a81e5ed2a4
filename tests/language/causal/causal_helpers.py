"""Models that the tests of causal problems share."""

from __future__ import annotations

import grisaille as gs


def mechanism(fn, name, **options):
    return gs.BlackBox(fn, name=name, **{"noise": 0.5, "process_noise": True, **options})


def chain_model(**options):
    """X -> Z -> Y."""
    x = gs.exogenous(lambda: 1.0, name="X", noise=2.0)
    z = mechanism(lambda x: 3 * x, "Z")(x)
    y = mechanism(lambda z: z**2, "Y")(z)
    return gs.Problem(minimize=y, **options), x, z, y


def three_sets(runs=2, seed=0, **options):
    model, x, z, y = chain_model(**options)
    sets = [gs.do(x, lower=-5, upper=5), gs.do(z, lower=-1, upper=4), []]
    return gs.causal_problem(model, sets, runs=runs, seed=seed), (x, z, y)
