"""The known problems by name, for command lines and tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from grisaille.problems.causal import complete_graph, constrained_toy_graph, toy_graph
from grisaille.problems.composite import environmental, goldstein_price, langermann
from grisaille.problems.constrained import bazaraa, rosen_suzuki, sinusoidal
from grisaille.problems.known_problem import KnownProblem
from grisaille.problems.networks import ackley, ackley_sine, drop_wave, rosenbrock
from grisaille.problems.paper_examples import (
    additive,
    chain,
    lp_with_embedded_gp,
    shifted_square,
    sum_of_squares,
)
from grisaille.problems.reactor import williams_otto

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
