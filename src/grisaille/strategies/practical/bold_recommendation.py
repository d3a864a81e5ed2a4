"""Points that are believed good, and feasible with less certainty than recommendations need."""

from __future__ import annotations

from dataclasses import replace

from grisaille.confidence.knowledge import Knowledge
from grisaille.records import TrialKind
from grisaille.strategies.plan import Plan
from grisaille.strategies.practical.gap import gap_of, is_closing
from grisaille.strategies.practical.recommendation import cautious_solution, repeats
from grisaille.strategies.stepped_choice import design_of

# The part of their deviations that constraints must bear.
_CAUTION = 0.3
_OWN = (TrialKind.NARROWED, TrialKind.OPTIMISTIC)
# So many of the algorithm's own points in a row must have missed the constraints.
_MISSED = 2


def recommend_boldly(plan: Plan, knowledge: Knowledge) -> Plan:
    """Where the algorithm's own points miss the constraints, try one that is likelier to meet them.

    Where learned bands are wide, what they promise lies far beyond the constraints, and points that
    are chosen by them miss these one after another. A recommendation, which must bear the whole
    deviations, can only creep. So every other trial then goes between the two. A third of the deviations is risk enough to learn where the
    constraints are, and caution enough to meet them often.
    """
    if not _is_due(plan, knowledge):
        return plan
    incumbent, bands = knowledge.incumbent, knowledge.plausible.scaled(_CAUTION)
    assert incumbent is not None  # it is due
    solution = cautious_solution(knowledge, incumbent, bands)
    if not (solution.feasible and solution.value < incumbent.objective):
        return plan
    x = design_of(solution, knowledge)
    if repeats(x, knowledge):
        return plan
    suggestion = replace(plan.suggestion, kind=TrialKind.RECOMMENDED, x=x)
    return replace(plan, suggestion=suggestion, is_final=True)


def _is_due(plan: Plan, knowledge: Knowledge) -> bool:
    """Whether constraints of learned bands leave much to gain, and it is this step's turn."""
    situation, incumbent = knowledge.situation, knowledge.incumbent
    constrained = len(knowledge.program.outputs) > 1
    if not (knowledge.is_learned and constrained) or situation.pending or is_closing(situation):
        return False
    if incumbent is None or not incumbent.feasible or len(knowledge.history) % 2 == 0:
        return False
    own = [t for t in knowledge.history if t.suggestion.kind in _OWN][-_MISSED:]
    missed = len(own) == _MISSED and all(trial.violation > 0 for trial in own)
    return missed and not gap_of(plan, knowledge).is_nearly_closed
