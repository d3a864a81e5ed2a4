"""Known problems with known optima, for tests, demonstrations and benchmarks."""

from grisaille.lab.problems.causal import complete_graph, constrained_toy_graph, toy_graph
from grisaille.lab.problems.composite import (
    bazaraa,
    environmental,
    goldstein_price,
    langermann,
    rosen_suzuki,
    sinusoidal,
)
from grisaille.lab.problems.curves import environmental_field, kinetic_calibration
from grisaille.lab.problems.discrete import (
    additive_choice,
    catalyst_choice,
    pressure_vessel,
    speed_reducer,
)
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.lab.problems.listing import catalogue
from grisaille.lab.problems.mixtures import flash, solvent_blend
from grisaille.lab.problems.networks import ackley, ackley_sine, drop_wave, rosenbrock, sellar
from grisaille.lab.problems.paper_examples import (
    additive,
    chain,
    lp_with_embedded_gp,
    shifted_square,
    sum_of_squares,
)
from grisaille.lab.problems.plant import flowsheet
from grisaille.lab.problems.reactor import williams_otto
from grisaille.lab.problems.recycle import recycle_loop

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
