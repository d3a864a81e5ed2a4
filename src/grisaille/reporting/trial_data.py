"""A trial as its user knows it: their names, their sense of the objective."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grisaille.language.value_kinds import Value, ValueKind, readable
from grisaille.records import Suggestion, Trial


@dataclass(frozen=True, slots=True)
class TrialData:
    """The data of a trial that tables, exports and summaries show; None where unknown.

    Attributes:
        kind: Why the point was tried.
        x: The design point by entry, with labels and whole numbers; None if the problem had other
            variables at that time.
        objective: As observed, in the user's sense.
        constraints: The constraint bodies as observed, met when <= 0.
        violation: Largest violation of a constraint as observed.
        bound: The estimated bound of the decision, in the user's sense.
        certified_bound: The proved bound of the decision, in the user's sense; None while its
            bands were untested.
        evaluations: How often each black box answered.
    """

    kind: str
    x: dict[str, Value] | None
    objective: float | None
    constraints: list[float] | None
    violation: float | None
    bound: float | None
    certified_bound: float | None
    evaluations: dict[str, int]


def trial_data(
    suggestion: Suggestion,
    outcome: Trial | None,
    answered: Iterable[str],
    *,
    sense: int,
    entries: Sequence[str],
    kinds: Sequence[ValueKind],
    boxes: Iterable[str],
    tested: bool = True,
) -> TrialData:
    """The data of a trial, whatever its state.

    Args:
        suggestion: What was asked.
        outcome: The complete trial; None if it is not complete.
        answered: The black box of each answer.
        sense: 1 if the user minimizes, -1 if the user maximizes.
        entries: Names of the entries of a design point.
        kinds: What each of them can be.
        boxes: Names of the black boxes.
        tested: Whether the bands of the decision were tested, so that a proof certifies a bound.
    """

    def user_value(minimized: float | None) -> float | None:
        return None if minimized is None else sense * minimized

    fits = len(entries) == len(suggestion.x)
    counts = Counter(answered)
    return TrialData(
        kind=str(suggestion.kind),
        x=dict(zip(entries, readable(kinds, suggestion.x), strict=True)) if fits else None,
        objective=None if outcome is None else user_value(outcome.objective),
        constraints=None if outcome is None else outcome.constraints.tolist(),
        violation=None if outcome is None else outcome.violation,
        bound=user_value(suggestion.bound.estimated),
        certified_bound=user_value(suggestion.bound.proved) if tested else None,
        evaluations={box: counts[box] for box in boxes},
    )
