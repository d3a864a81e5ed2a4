"""Known problems with known optima, for tests, demonstrations and benchmarks."""

from grisaille.problems.additives import additive_choice
from grisaille.problems.catalysts import catalyst_choice
from grisaille.problems.causal import complete_graph, constrained_toy_graph, toy_graph
from grisaille.problems.composite import environmental, goldstein_price, langermann
from grisaille.problems.constrained import bazaraa, rosen_suzuki, sinusoidal
from grisaille.problems.coupled_disciplines import sellar
from grisaille.problems.curves import environmental_field, kinetic_calibration
from grisaille.problems.flash_drum import flash
from grisaille.problems.known_problem import KnownProblem, Structure
from grisaille.problems.listing import catalogue
from grisaille.problems.machine_design import pressure_vessel, speed_reducer
from grisaille.problems.mixtures import solvent_blend
from grisaille.problems.networks import ackley, ackley_sine, drop_wave, rosenbrock
from grisaille.problems.paper_examples import (
    additive,
    chain,
    lp_with_embedded_gp,
    shifted_square,
    sum_of_squares,
)
from grisaille.problems.plant import flowsheet
from grisaille.problems.reactor import williams_otto
from grisaille.problems.recycle import recycle_loop

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
