"""Known problems with known optima, for tests, demonstrations and benchmarks."""

from grisaille.problems.constrained import bazaraa, rosen_suzuki
from grisaille.problems.embedded import (
    additive,
    chain,
    lp_with_embedded_gp,
    shifted_square,
    sum_of_squares,
)
from grisaille.problems.known import KnownProblem
from grisaille.problems.networks import ackley, ackley_sine, drop_wave, rosenbrock
from grisaille.problems.reactor import williams_otto

__all__ = [
    "KnownProblem",
    "ackley",
    "ackley_sine",
    "additive",
    "bazaraa",
    "chain",
    "drop_wave",
    "lp_with_embedded_gp",
    "rosen_suzuki",
    "rosenbrock",
    "shifted_square",
    "sum_of_squares",
    "williams_otto",
]
