"""Simulators that return a curve or a field, to be fitted to measurements."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import expm

from grisaille.array_types import Array
from grisaille.lab.problems.composite import SPILL, spill_variables, spills
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.variable import Variable

FIELD_PLACES = np.linspace(0, 2.5, 50)
"""Where the field of the environmental model is observed."""
FIELD_TIMES = np.linspace(15, 60, 20)
"""When it is observed."""

SAMPLES = np.array([0.25, 0.5, 1.0, 2.0, 4.0])
"""When the batches are sampled, in hours."""
TEMPERATURES = np.array([340.0, 360.0])
"""Temperature of each batch, in K."""
RATES = np.array([1.2, 0.6, 0.25, 0.35, 0.15])
"""The rate constants at 350 K that are to be found, in 1/h."""
ENERGIES = np.array([85.0, 70.0, 95.0, 60.0, 75.0])
"""The activation energies that are to be found, in kJ/mol."""

_REACTIONS = ((0, 1), (1, 2), (2, 1), (1, 3), (2, 4))
_GAS_CONSTANT = 8.314e-3
_REFERENCE = 350.0


def environmental_field(shared_kernel: bool = True) -> KnownProblem:
    """Find two spills from 1,000 concentrations: 50 places at 20 times.

    The environmental model with more measurements; one call of the simulator gives all of them.

    Args:
        shared_kernel: Whether one kernel serves all outputs; else each has its own.
    """
    simulate = partial(spills, FIELD_PLACES, FIELD_TIMES)
    measured = simulate(*SPILL).ravel()
    field = BlackBox(
        simulate,
        name="field",
        outputs=len(measured),
        noise=0,
        lower=0,
        shared_kernel=shared_kernel,
    )
    return KnownProblem(
        "Environmental field",
        Problem(minimize=np.sum((field(*spill_variables()) - measured) ** 2)),
        optimum=0.0,
        x=SPILL.copy(),
        source="Bliznyuk et al. (2008), on a grid of 50 places and 20 times",
        kind=Structure.ONE_LAYER,
    )


def composition(rates: Array, energies: Array) -> Array:
    """Mole fractions of five species in two batches, at five times each, (50,).

    A -> B, B -> C, C -> B, B -> D, C -> E, all of first order: dc/dt = M c from pure A, where the
    rate constant of reaction i at temperature T is k_i exp(-E_i / R (1 / T - 1 / 350 K)).

    Args:
        rates: k, rate constants at 350 K, in 1/h.
        energies: E, activation energies in kJ/mol.
    """
    fractions = []
    for temperature in TEMPERATURES:
        arrhenius = np.exp(-energies / _GAS_CONSTANT * (1 / temperature - 1 / _REFERENCE))
        matrix = np.zeros((5, 5))
        for (source, target), rate in zip(_REACTIONS, rates * arrhenius, strict=True):
            matrix[source, source] -= rate
            matrix[target, source] += rate
        fractions += [expm(matrix * hours)[:, 0] for hours in SAMPLES]
    return np.clip(np.ravel(fractions), 0, 1)  # rounding must not leave the declared range


def kinetic_calibration(shared_kernel: bool = True) -> KnownProblem:
    """Find five rate constants and five activation energies from 50 measured mole fractions.

    minimize sum_j (c_j(k, E) - c*_j)^2, where c* are the fractions for the true parameters.

    Args:
        shared_kernel: Whether one kernel serves all outputs; else each has its own.
    """
    rates = Variable("k", 5, lower=0.05, upper=5, log=True)
    energies = Variable("E", 5, lower=40, upper=120)
    batches = BlackBox(
        composition,
        name="composition",
        outputs=50,
        noise=0,
        lower=0,
        upper=1,
        shared_kernel=shared_kernel,
    )
    # Rounded, so that every processor states the same problem: its last bits would be in the
    # fingerprint, and a stored study could not go on elsewhere.
    measured = np.round(composition(RATES, ENERGIES), 12)
    misfit = batches(rates, energies) - measured
    return KnownProblem(
        "Kinetic calibration",
        Problem(minimize=np.sum(misfit**2)),
        optimum=0.0,
        x=np.concatenate([RATES, ENERGIES]),
        source="written for this library",
        kind=Structure.ONE_LAYER,
    )
