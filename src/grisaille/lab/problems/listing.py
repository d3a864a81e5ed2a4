"""The known problems by name, for command lines and tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from grisaille.lab.problems import (
    causal,
    composite,
    curves,
    discrete,
    mixtures,
    networks,
    paper_examples,
    plant,
    reactor,
    recycle,
)
from grisaille.lab.problems import composite as constrained
from grisaille.lab.problems import mixtures as flash_drum
from grisaille.lab.problems import networks as coupled_disciplines
from grisaille.lab.problems.known_problem import KnownProblem

Maker = Callable[[int], KnownProblem]

_DRAWN: tuple[Maker, ...] = (
    paper_examples.additive,
    paper_examples.sum_of_squares,
    paper_examples.shifted_square,
    paper_examples.chain,
    paper_examples.lp_with_embedded_gp,
    causal.toy_graph,
    causal.constrained_toy_graph,
    causal.complete_graph,
)
"""Problems that depend on the seed; causal ones only by their data."""

_FIXED: tuple[Callable[[], KnownProblem], ...] = (
    composite.environmental,
    composite.langermann,
    composite.goldstein_price,
    constrained.rosen_suzuki,
    constrained.bazaraa,
    constrained.sinusoidal,
    reactor.williams_otto,
    plant.flowsheet,
    discrete.pressure_vessel,
    discrete.speed_reducer,
    discrete.catalyst_choice,
    discrete.additive_choice,
    mixtures.solvent_blend,
    coupled_disciplines.sellar,
    recycle.recycle_loop,
    flash_drum.flash,
    curves.environmental_field,
    curves.kinetic_calibration,
    networks.drop_wave,
    networks.ackley,
    networks.rosenbrock,
    networks.ackley_sine,
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
