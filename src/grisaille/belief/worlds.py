"""Worlds: draws of all black boxes at once, in each of which the whole program runs.

A world has one function for each black box, drawn from what is believed of it. Where deviations
were learned, those of a world have a factor of their own, so that functions are drawn from Student
processes. The share of worlds without a feasible point is the chance that a problem has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.design_problem import design_problem
from grisaille.belief.learning import accepted
from grisaille.belief.plausible_set import PlausibleSet, clip_band
from grisaille.belief.processes.draws import chance, normal_numbers
from grisaille.belief.simultaneous import design_sample
from grisaille.language.program import BoxCall, split_outputs
from grisaille.search.search_problem import rounded


@dataclass(frozen=True, slots=True)
class WorldConstants:
    """The constants of worlds.

    Attributes:
        worlds: How many worlds there are. A choice: shares are known to 5 % then.
        points: Points at which all worlds are looked at first. Not measured.
        rounds: Rounds of a search in each world that has no feasible point yet. Not measured.
        tries: Points that a round looks at. Not measured.
        reach: How far from its best point a world is searched, in parts of the ranges: in the first
            and in the last round. Not measured.
    """

    worlds: int = 100
    points: int = 256
    rounds: int = 12
    tries: int = 16
    reach: tuple[float, float] = (0.3, 1e-3)


WORLDS = WorldConstants()


class Worlds:
    """Draws of objective and constraints of a problem.

    Args:
        plausible: What is believed of each black box, and what declarations say.
        degrees: How many independent values the deviations of a black box were learned from, by
            name; none for black boxes whose deviations are given.
        factors: By how much deviations are too small, as the audit found, by name.
        seed: Decides which worlds.
        count: How many.
    """

    def __init__(
        self,
        plausible: PlausibleSet,
        degrees: Mapping[str, float],
        factors: Mapping[str, float],
        seed: int,
        count: int = WORLDS.worlds,
    ) -> None:
        self.count = count
        self.program = plausible.program
        self._plausible, self._generator = plausible, chance(seed)
        self._drawn = {
            box.name: plausible.beliefs[box.name].draw(count, seed + 1 + number)
            for number, box in enumerate(self.program.boxes)
        }
        self._spreads = {
            box.name: factors.get(box.name, 1.0) * self._student(degrees.get(box.name))
            for box in self.program.boxes
        }

    def run(self, design: Tensor) -> tuple[Tensor, Tensor]:
        """Return objective (worlds, batch) and constraints (worlds, batch, K).

        Args:
            design: Points of each world, (worlds, batch, n).
        """
        worlds, batch, _ = design.shape

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            box = call.box
            places = accepted(box, states).expand(worlds * batch, -1)
            mean, _ = self._plausible.beliefs[box.name].predict(places)
            drawn = self._drawn[box.name](places.reshape(worlds, batch, -1)) - mean.reshape(
                worlds, batch, -1
            )
            values = mean + (self._spreads[box.name] * drawn).reshape(worlds * batch, -1)
            interval = self._plausible.intervals.get(box.name)
            return clip_band(box, places, values, values, interval)[0]

        with torch.no_grad():
            outputs = self.program.run(design.reshape(worlds * batch, -1), resolve)
        objective, constraints = split_outputs(outputs)
        return objective.reshape(worlds, batch), constraints.reshape(worlds, batch, -1)

    def share_infeasible(self, sizes: Array) -> float:
        """Return the share of worlds in which no feasible point is found.

        Args:
            sizes: The size of each constraint, (K,).
        """
        if not len(sizes):
            return 0.0
        found = self._least_violations(torch.tensor(sizes).clamp_min(1e-300))
        return float((found > 0).double().mean())

    def _least_violations(self, sizes: Tensor) -> Tensor:
        """Search every world for its least violation, (worlds,)."""
        space = self.program.space
        problem = design_problem(self.program, lambda design: (design[:, 0], design[:, :0]))
        lower, upper = problem.lower, problem.upper
        points = design_sample(self.program, WORLDS.points)

        def violations(points: Tensor) -> Tensor:
            _, constraints = self.run(space.to_design(points.flatten(0, 1)).reshape(points.shape))
            worst = (constraints / sizes).amax(2)
            return torch.nan_to_num(worst, nan=torch.inf).clamp_min(0)

        many = points.expand(self.count, *points.shape)
        least, place = violations(many).min(1)
        best = points[place]
        for reach in np.geomspace(*WORLDS.reach, WORLDS.rounds):
            if not (least > 0).any():
                break
            moves = normal_numbers(self._generator, self.count, WORLDS.tries, len(lower))
            near = best.unsqueeze(1) + reach * (upper - lower) * moves
            near = rounded(problem, torch.minimum(torch.maximum(near, lower), upper))
            reached, place = violations(near).min(1)
            better = reached < least
            least = torch.where(better, reached, least)
            closest = near[torch.arange(self.count), place]
            best = torch.where(better.unsqueeze(1), closest, best)
        return least

    def _student(self, degrees: float | None) -> Tensor:
        """Draw the factors that make normal numbers Student's, (worlds, 1, 1)."""
        if degrees is None:
            return torch.ones(self.count, 1, 1, dtype=torch.float64)
        freedom = max(round(degrees) - 1, 1)
        squares = normal_numbers(self._generator, self.count, freedom).square()
        return squares.mean(1).rsqrt()[:, None, None]
