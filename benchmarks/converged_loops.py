"""Problems with a loop as ordinary ones: the loop is converged inside one black box.

This is what one does without unknowns. Every call of a simulator inside the loop is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

import grisaille as gs
from grisaille.lab.problems import composite, plants

Array = np.ndarray

TOLERANCE = 1e-5
"""Part of the distance between the bounds of an unknown: ten times what `gs.Unknown` allows, which
spares the rival some rounds."""
_DEPTH = 3
_MOST_ROUNDS = 100


def converge(function: Callable[[Array], Array], start: Array, width: Array) -> Array:
    """A fixed point by Anderson acceleration.

    Args:
        function: What comes back for what went in.
        start: What goes in first.
        width: The distances between the bounds.

    Raises:
        RuntimeError: It does not converge.
    """
    points, answers = [start], [function(start)]
    for _ in range(_MOST_ROUNDS):
        residual = answers[-1] - points[-1]
        if (np.abs(residual) <= TOLERANCE * width).all():
            return answers[-1]
        recent = min(_DEPTH, len(points) - 1)
        following = answers[-1]
        if recent:
            changes = [
                (answers[-k] - points[-k]) - (answers[-k - 1] - points[-k - 1])
                for k in range(1, recent + 1)
            ]
            moves = [answers[-k] - answers[-k - 1] for k in range(1, recent + 1)]
            weights = np.linalg.lstsq(np.stack(changes, 1) / width[:, None], residual / width)[0]
            following = following - np.stack(moves, 1) @ weights
        points.append(np.clip(following, 0, None))
        answers.append(function(points[-1]))
    raise RuntimeError("the loop does not converge")


def converged_sellar(calls: Counter[str]) -> gs.Problem:
    """Sellar's problem of x and z alone; y2 follows from y1."""

    def agree(x: float, z: Array) -> Array:
        def come_back(y1: Array) -> Array:
            calls.update(["first_discipline", "second_discipline"])
            y2 = composite.second_discipline(z, y1[0])
            return np.array([composite.first_discipline(z, x, y2)])

        y1 = converge(come_back, np.array([10.0]), np.array([125.0]))
        if y1[0] < 0:
            raise RuntimeError("the answers of the disciplines do not agree")
        calls["second_discipline"] += 1
        return np.array([y1[0], composite.second_discipline(z, y1[0])])

    x = gs.Variable("x", lower=0, upper=10)
    z = gs.Variable("z", 2, lower=[-10, 0], upper=10)
    y = gs.BlackBox(agree, outputs=["y1", "y2"], noise=0)(x, z)
    return gs.Problem(
        minimize=x**2 + z[1] + y["y1"] + np.exp(-y["y2"]),
        subject_to=[y["y1"] >= 3.16, y["y2"] <= 24],
    )


def converged_recycle_loop(calls: Counter[str]) -> gs.Problem:
    """The flowsheet with its recycle converged; the recycled inert is known."""

    def plant(temperature: float, reflux: float, purge: float) -> Array:
        inert = plants.FEED[1] / purge  # into the separator
        found = []

        def come_back(recycled: Array) -> Array:
            calls.update(["reactor", "separator"])
            stream = np.array([plants.FEED[0] + recycled[0], inert])
            left, product, waste = plants.react(stream, temperature)
            recovery = plants.recover(reflux, left + inert)
            found[:] = [left, product, waste, recovery]
            return np.array([(1 - purge) * recovery * left])

        converge(come_back, np.array([2.0]), np.array([60.0]))
        return np.array(found)

    temperature = gs.Variable("temperature", lower=370, upper=440)
    reflux = gs.Variable("reflux", lower=0.5, upper=4)
    purge = gs.Variable("purge", lower=0.02, upper=0.4)
    plant_box = gs.BlackBox(plant, outputs=["A", "P", "W", "recovery"], noise=0)
    y = plant_box(temperature, reflux, purge)
    overhead = y["recovery"] * y["A"] + plants.FEED[1] / purge
    vapour = (1 + reflux) * overhead
    purity = y["P"] / (y["P"] + y["W"] + (1 - y["recovery"]) * y["A"])
    return gs.Problem(
        maximize=100 * y["P"] - 50 * y["W"] - 2 * vapour - (1 - purge) * overhead,
        subject_to=[purity >= 0.93, vapour <= 25],
    )
