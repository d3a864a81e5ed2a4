"""Known problems with known optima, for tests, demonstrations and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from grisaille.lab.problems.causal import complete_graph, constrained_toy_graph, toy_graph
from grisaille.lab.problems.composite import (
    ackley,
    ackley_sine,
    bazaraa,
    drop_wave,
    environmental,
    environmental_field,
    goldstein_price,
    kinetic_calibration,
    langermann,
    rosen_suzuki,
    rosenbrock,
    sellar,
    sinusoidal,
)
from grisaille.lab.problems.discrete import (
    additive_choice,
    catalyst_choice,
    pressure_vessel,
    speed_reducer,
)
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.lab.problems.paper_examples import (
    additive,
    chain,
    lp_with_embedded_gp,
    shifted_square,
    sum_of_squares,
)
from grisaille.lab.problems.plants import (
    flash,
    flowsheet,
    recycle_loop,
    solvent_blend,
    williams_otto,
)

__all__ = [
    "KnownProblem",
    "Structure",
    "ackley",
    "ackley_sine",
    "additive",
    "additive_choice",
    "bazaraa",
    "catalogue",
    "catalyst_choice",
    "chain",
    "complete_graph",
    "constrained_toy_graph",
    "drop_wave",
    "environmental",
    "environmental_field",
    "flash",
    "flowsheet",
    "goldstein_price",
    "kinetic_calibration",
    "langermann",
    "lp_with_embedded_gp",
    "pressure_vessel",
    "recycle_loop",
    "rosen_suzuki",
    "rosenbrock",
    "sellar",
    "shifted_square",
    "sinusoidal",
    "solvent_blend",
    "speed_reducer",
    "sum_of_squares",
    "toy_graph",
    "williams_otto",
]

Maker = Callable[[int], KnownProblem]

_DRAWN: tuple[Maker, ...] = (
    additive,
    sum_of_squares,
    shifted_square,
    chain,
    lp_with_embedded_gp,
    toy_graph,
    constrained_toy_graph,
    complete_graph,
)
"""Problems that depend on the seed; causal ones only by their data."""

_FIXED: tuple[Callable[[], KnownProblem], ...] = (
    environmental,
    langermann,
    goldstein_price,
    rosen_suzuki,
    bazaraa,
    sinusoidal,
    williams_otto,
    flowsheet,
    pressure_vessel,
    speed_reducer,
    catalyst_choice,
    additive_choice,
    solvent_blend,
    sellar,
    recycle_loop,
    flash,
    environmental_field,
    kinetic_calibration,
    drop_wave,
    ackley,
    rosenbrock,
    ackley_sine,
)
"""Problems that do not depend on the seed."""


def catalogue() -> dict[str, Maker]:
    """A maker for each known problem, by the name of its function: `catalogue()[name](seed)`.

    Problems that are not drawn ignore the seed.
    """
    fixed = {make.__name__: partial(_whatever_the_seed, make) for make in _FIXED}
    return {**fixed, **{make.__name__: make for make in _DRAWN}}


def _whatever_the_seed(make: Callable[[], KnownProblem], _seed: int) -> KnownProblem:
    return make()
