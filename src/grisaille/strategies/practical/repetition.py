"""Whether a trial would only ask again what is known already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grisaille.confidence.knowledge import Knowledge
from grisaille.records import Situation, TrialKind
from grisaille.strategies.initial_design import sobol_point
from grisaille.strategies.plan import Plan

# Points closer than this part of each range are the same.
_SAME = 1e-9


def go_elsewhere(plan: Plan, knowledge: Knowledge) -> Plan:
    """Try a point that fills space instead of one that would teach nothing.

    Where learned bands send us to a point whose answers are known and exact, we see whether the
    bands are right elsewhere.
    """
    found, situation = plan.suggestion, knowledge.situation
    if not knowledge.is_learned or found.probes or not repeats(found.x, situation):
        return plan
    found = replace(found, kind=TrialKind.RANDOM, x=sobol_point(situation))
    return replace(plan, suggestion=found)


def repeats(x: NDArray[np.float64], situation: Situation) -> bool:
    """Whether a point was tried, and all black boxes would give the same answers again."""
    program = situation.problem.program
    if not situation.problem.is_exact:
        return False
    reach = _SAME * (program.upper - program.lower)
    return any((np.abs(trial.x - x) <= reach).all() for trial in situation.history)
