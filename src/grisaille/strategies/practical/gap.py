"""The gap that the bands leave, and whether trials still close it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from grisaille.belief.incumbent import Incumbent
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.learning import noise_of
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.records import History, Situation
from grisaille.search.search_problem import Solution
from grisaille.strategies.plan import Plan


@dataclass(frozen=True, slots=True)
class GapConstants:
    """The constants of gaps.

    Attributes:
        nearly_closed: Relative gap from which the bands leave little to gain. Halved: 1 of 13 runs
            changes; doubled: 1 (benchmarks.constants).
        closed: Relative gap from which they leave nothing. Halved: 0 of 14 runs change; doubled: 1
            (benchmarks.constants).
        initial_spread: Part of the spread of all objectives that counts at least. Halved and
            doubled: no decision of 14 runs changed (benchmarks.constants).
        latest: Trials that must have made progress. Halved: 1 of 4 runs changes; doubled: 0
            (benchmarks.constants).
        progress: Part of the gap that they must have closed. Halved and doubled: no decision of 4
            runs changed (benchmarks.constants).
        taught: An answer teaches little if the deviation of its box is below this part of its
            noise. Halved and doubled: no decision of 16 runs changed (benchmarks.constants).
        closing_trials: Last trials, which go to recommendations. Halved: 9 of 12 runs change;
            doubled: 9 (benchmarks.constants).
    """

    nearly_closed: float = 1e-2
    closed: float = 1e-3
    initial_spread: float = 1e-2
    latest: int = 3
    progress: float = 0.1
    taught: float = 0.5
    closing_trials: int = 2


GAP = GapConstants()


@dataclass(frozen=True, slots=True)
class Gap:
    """What the bands that points are chosen by leave to gain.

    Attributes:
        is_nearly_closed: Whether that is little, by learned bands.
        is_closed: Whether it is a matter of digits: nothing is left, or trials gain nothing.
            Exact answers cannot narrow bands below rounding, so a gap that stalls there is closed.
        is_doubted: Whether this trial is to doubt the bands: where trials gain nothing, or would
            only average noise, every other one does, or three of four if nothing is left.
    """

    is_nearly_closed: bool
    is_closed: bool
    is_doubted: bool


def gap_of(plan: Plan, knowledge: Knowledge) -> Gap:
    """The gap that the plan's solution leaves."""
    situation, history = knowledge.situation, knowledge.history
    relative = relative_gap(history, knowledge.incumbent, plan.promise)
    nearly = knowledge.is_learned and relative <= GAP.nearly_closed
    stalls = nearly and stalled(history, knowledge.incumbent, plan.promise)
    averages = knowledge.is_learned and not teaches(plan.plausible, plan.solution, knowledge)
    turn = situation.started % (2 if relative > GAP.closed else 4) != 0
    is_doubted = (stalls or averages) and turn and not is_closing(situation)
    return Gap(nearly, relative <= GAP.closed or stalls, is_doubted)


def teaches(
    plausible: PlausibleSet, solution: Solution, knowledge: Knowledge, least: float = GAP.taught
) -> bool:
    """Whether answers at a solution would tell more than that noise is averaged.

    With noise a gap closes only as fast as answers at one place average it, and trials that go on
    there never see whether another place is better. An answer teaches where the deviation of its
    box is not small beside its noise, and beside the spread of its answers if it has none.

    Args:
        plausible: The bands.
        solution: The solution of their auxiliary problem.
        knowledge: What is known.
        least: How large the deviation must be, in standard deviations of the noise.
    """
    if knowledge.is_exact or not len(knowledge.history):
        return True
    states, _ = plausible.trace(solution.point)
    for call, state in zip(knowledge.program.calls, states, strict=True):
        box, surrogate = call.box, plausible.beliefs[call.box.name]
        _, outputs = knowledge.history.data(box.name, box.inputs, box.outputs)
        with torch.no_grad():
            _, deviation = surrogate.predict(torch.tensor(state).unsqueeze(0))
        noise = least * np.array(noise_of(box, surrogate))
        if (deviation[0].numpy() > np.maximum(noise, GAP.closed * outputs.std(0))).any():
            return True
    return False


def is_closing(situation: Situation) -> bool:
    """Whether these are the last trials."""
    return situation.remaining is not None and situation.remaining <= GAP.closing_trials


def spread_of(history: History) -> float:
    """Standard deviation of the objectives seen; 0 when there are none."""
    objectives = np.array([t.objective for t in history])
    return _spread(objectives[np.isfinite(objectives)])


def _spread(objectives: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):  # a known part may give numbers whose squares are infinite
        return float(objectives.std()) if len(objectives) else 0.0


def relative_gap(history: History, incumbent: Incumbent | None, promise: float | None) -> float:
    """The gap in standard deviations of the objectives that were chosen; infinite if unknown.

    Those of the initial design may by chance be larger by orders of magnitude, so they count for
    little; but not for nothing, because what is chosen may all be in one place.
    """
    if incumbent is None or not incumbent.feasible or promise is None:
        return np.inf
    spread = _spread(_chosen(history))
    spread = max(spread, GAP.initial_spread * spread_of(history))
    return (incumbent.objective - promise) / spread if spread > 0 else np.inf


def stalled(history: History, incumbent: Incumbent | None, promise: float | None) -> bool:
    """Whether the latest trials gained next to nothing of the gap, or of what others missed by."""
    earlier = [t.objective for t in history.trials[: -GAP.latest] if not t.missed.any()]
    if incumbent is None or promise is None or not earlier:
        return True
    gained = min(earlier) - incumbent.objective
    missed = _chosen(history) - incumbent.objective
    # The median, because objectives may vary over orders of magnitude.
    typical = float(np.median(missed)) if len(missed) else 0.0
    return gained < max(GAP.progress * (incumbent.objective - promise), GAP.closed * typical)


def _chosen(history: History) -> NDArray[np.float64]:
    """Objectives of all trials that a strategy chose by what it had learned."""
    chosen = [t.objective for t in history if t.suggestion.kind.is_chosen]
    return np.array([objective for objective in chosen if np.isfinite(objective)])
