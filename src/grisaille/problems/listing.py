"""The known problems by name, for command lines and tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from grisaille.problems import (
    additives,
    catalysts,
    causal,
    composite,
    constrained,
    coupled_disciplines,
    curves,
    flash_drum,
    machine_design,
    mixtures,
    networks,
    paper_examples,
    plant,
    reactor,
    recycle,
)
from grisaille.problems.known_problem import KnownProblem

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
    machine_design.pressure_vessel,
    machine_design.speed_reducer,
    catalysts.catalyst_choice,
    additives.additive_choice,
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
