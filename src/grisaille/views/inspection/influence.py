"""The influence of variables and black boxes on the optimum and its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.knowledge import Knowledge
from grisaille.language.program import BoxCall
from grisaille.reductions.reduction import border
from grisaille.search.multistart import MultiStart
from grisaille.strategies.auxiliary_problem import solve_auxiliary
from grisaille.strategies.optimistic import bands_of
from grisaille.views.inspection.inspection import Inspection
from grisaille.views.inspection.slices import design_slices

# Shares are shown in whole percents, and somebody waits for them.
_SEARCH = MultiStart(starts=8, samples=512, again=False)


@dataclass(frozen=True, slots=True)
class VariableInfluence:
    """What one entry of the design point does, all others held at the best point.

    Attributes:
        name: The entry.
        effect: By how much the predicted objective varies over its range.
        gain: By how much the objective could still get better along it, by the bands, where
            constraints may hold.
    """

    name: str
    effect: float
    gain: float


@dataclass(frozen=True, slots=True)
class BoxInfluence:
    """What one black box does.

    Attributes:
        box: Its name.
        effect: By how much the objective at the best point varies when its outputs vary by one
            standard deviation of its answers, each on its own: the root of the summed squares.
        share: The part of the gap that would close if the black box were known to be what is
            predicted of it; None where there is no bound, or no gap. Shares need not add up to 1.
    """

    box: str
    effect: float
    share: float | None


def variable_influence(inspection: Inspection) -> list[VariableInfluence]:
    """What each entry of the design point does, in the order of the entries."""
    sense, found = inspection.problem.sense, []
    incumbent = inspection.incumbent
    for piece in design_slices(inspection):
        optimistic = (piece.lower if sense == 1 else -piece.upper)[piece.may_be_feasible]
        gain = 0.0
        if incumbent is not None and incumbent.feasible and len(optimistic):
            gain = max(0.0, incumbent.objective - float(optimistic.min()))
        found.append(VariableInfluence(piece.along, float(np.ptp(piece.mean)), gain))
    return found


Influence = TypeVar("Influence", VariableInfluence, BoxInfluence)


def by_effect(found: Sequence[Influence]) -> list[Influence]:
    """Return variables or black boxes, those that move the objective most first."""
    return sorted(found, key=lambda one: -one.effect)


def box_influence(inspection: Inspection) -> list[BoxInfluence]:
    """What each black box does, in the order of the problem."""
    shares = gap_shares(inspection)
    effects = _effects(inspection)
    return [
        BoxInfluence(box.name, effects[box.name], shares.get(box.name))
        for box in inspection.problem.boxes
    ]


def gap_shares(inspection: Inspection) -> dict[str, float]:
    """For each black box, the part of the gap that would close if it were known.

    The auxiliary problem is searched once as it is and once for each black box, whose band then is
    its mean. Empty where there is no bound: for other strategies than `Optimistic`, before any
    point is feasible, and where the search finds no plausible point. Empty, too, without a gap.
    """
    rule, incumbent = bands_of(inspection.strategy), inspection.incumbent
    if rule is None or incumbent is None or not incumbent.feasible:
        return {}
    knowledge = Knowledge(border(inspection.problem).down(inspection.situation), rule)
    bounded = any(trial.suggestion.has_bound for trial in inspection.history)
    if not bounded or knowledge.contradiction:
        return {}
    whole = _optimum(knowledge, {})
    gap = None if whole is None else incumbent.most - whole
    if gap is None or gap <= 1e-12 * (1 + abs(incumbent.objective)):
        return {}
    shares = {}
    for box in knowledge.program.boxes:
        known = _optimum(knowledge, {box.name: 0.0})
        # Without a plausible point, nothing better than the best point is left.
        closed = gap if known is None else min(known, incumbent.most) - (incumbent.most - gap)
        shares[box.name] = float(np.clip(closed / gap, 0.0, 1.0))
    return shares


def _optimum(knowledge: Knowledge, factors: dict[str, float]) -> float | None:
    """The optimum of the auxiliary problem with some bands scaled; None without a feasible one."""
    names = [box.name for box in knowledge.program.boxes]
    bands = knowledge.confident.scaled({name: factors.get(name, 1.0) for name in names})
    solution = solve_auxiliary(bands, knowledge, None, _SEARCH)
    return solution.value if solution.feasible else None


def _effects(inspection: Inspection) -> dict[str, float]:
    """By how much the objective varies with the answers of each black box, at the best point."""
    found = {}
    for box in inspection.problem.boxes:
        _, answers = inspection.history.data(box.name, box.inputs, box.outputs)
        spread = torch.tensor(answers.std(0) if len(answers) else np.zeros(box.outputs))
        moves = torch.cat([spread.diag(), -spread.diag()])
        objective = _moved_objectives(inspection, box.name, moves)
        changes = np.abs(objective - inspection.best_trial.objective).reshape(2, -1).max(0)
        found[box.name] = float(np.linalg.norm(changes))
    return found


def _moved_objectives(inspection: Inspection, name: str, moves: Tensor) -> Array:
    """The minimized objective at the best point when outputs of a black box are moved.

    Black boxes that come after it follow as predicted, and others answer as they did.

    Args:
        inspection: What was learned.
        name: The black box.
        moves: (moves, k), how far its outputs are moved.
    """
    trial, moved = inspection.best_trial, False

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        nonlocal moved
        answer = torch.tensor(trial.chain[call.columns]).expand(len(moves), -1)
        if call.box.name == name:
            moved = True
            return answer + moves
        return inspection.predictor.middle_of(call, states) if moved else answer

    with torch.no_grad():
        x = torch.tensor(trial.x).expand(len(moves), -1)
        objective = inspection.problem.program.run(x, resolve)[0]
    return objective.numpy()
