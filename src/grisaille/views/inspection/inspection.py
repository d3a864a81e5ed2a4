"""The data behind the pictures of a study: worked out once per history, at first use."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from grisaille.array_types import Array
from grisaille.belief.audit import BoxCalibration
from grisaille.belief.incumbent import Incumbent
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.learning import accepted
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.predictions import Predictor
from grisaille.errors import ModelError
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall
from grisaille.records import History, Situation, Trial
from grisaille.reductions.reduction import border
from grisaille.strategies.optimistic import bands_of
from grisaille.strategies.strategy import Strategy
from grisaille.study.border import incumbent_of
from grisaille.views.inspection.learned_model import LearnedModel, learned_model
from grisaille.views.inspection.predictions import predictor_for

# How many design points the states and the bands of black boxes are looked at.
_POINTS = 128


class Inspection:
    """What was learned from a history, for people to look at.

    Args:
        problem: The problem.
        history: What was observed.
        strategy: Whose bands are shown, and who judges which point is best.
    """

    def __init__(self, problem: Problem, history: History, strategy: Strategy) -> None:
        self.problem = problem
        self.history = history
        self.strategy = strategy

    @property
    def situation(self) -> Situation:
        """The situation after the history, for strategies."""
        return Situation(self.problem, self.history, seed=0)

    @cached_property
    def predictor(self) -> Predictor:
        """Predicts with the bands of the strategy.

        Raises:
            ModelError: There is nothing to predict from yet, or the problem is over interventions.
        """
        return predictor_for(self.problem, self.history, self.strategy)

    @cached_property
    def incumbent(self) -> Incumbent | None:
        """The best point tried, as the strategy judges; None before the first trial."""
        return incumbent_of(self.strategy, self.situation)

    @property
    def best_trial(self) -> Trial:
        """The trial of the best point tried, which slices go through.

        Raises:
            ModelError: No trial is complete.
        """
        if self.incumbent is None:
            raise ModelError("there is no point to look at yet: no trial is complete")
        return self.history.trials[self.incumbent.position]

    @cached_property
    def calibration(self) -> dict[str, BoxCalibration]:
        """How well the bands of each black box predicted its answers; empty if nobody audits."""
        rule = bands_of(self.strategy)
        situation = border(self.problem).down(self.situation)
        rows = () if rule is None else Knowledge(situation, rule).calibration_of_bound()
        return {row.box: row for row in rows}

    @cached_property
    def design(self) -> Tensor:
        """Points that fill the design space, its two far corners among them, (points, n)."""
        space = self.problem.program.space
        lower, upper = torch.tensor(space.search_lower), torch.tensor(space.search_upper)
        sobol = SobolEngine(self.problem.program.size).draw(_POINTS, dtype=torch.float64)
        unit = torch.cat([sobol, torch.ones_like(sobol[:1])])
        return torch.tensor(space.to_try(lower + unit * (upper - lower)))

    @cached_property
    def states(self) -> dict[str, Array]:
        """Inputs of each black box (points, d) along the predicted chains of `design`."""
        return states_of(self.predictor.middle, self.design)

    @cached_property
    def states_at_best(self) -> dict[str, Array]:
        """Inputs of each black box (calls, d) along the chain of the best point, as evaluated."""
        trial = self.best_trial
        found: dict[str, list[Array]] = {}

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            found.setdefault(call.box.name, []).append(accepted(call.box, states)[0].numpy())
            return torch.tensor(trial.chain[call.columns]).unsqueeze(0)

        with torch.no_grad():
            self.problem.program.run(torch.tensor(trial.x).unsqueeze(0), resolve)
        return {name: np.array(rows) for name, rows in found.items()}

    def model(self, box: str) -> LearnedModel:
        """What was learned of a black box."""
        return learned_model(self.problem, self.history, self.strategy, box)

    def before_choices(self) -> History:
        """What was observed before the strategy chose its first point."""
        chosen = (t for t in self.history if t.suggestion.kind.is_chosen)
        first = next(chosen, None)
        return self.history if first is None else self.history.before(first)


def states_of(plausible: PlausibleSet, design: Tensor) -> dict[str, Array]:
    """Inputs of each black box (points, d), where every black box answers with its mean."""
    found: dict[str, list[Array]] = {}

    def look(call: BoxCall, states: Tensor) -> None:
        found.setdefault(call.box.name, []).append(accepted(call.box, states).numpy())

    with torch.no_grad():
        plausible.visit(plausible.program.space.to_search(design), look)
    return {name: np.concatenate(parts) for name, parts in found.items()}
