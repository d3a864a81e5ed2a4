"""Each black box in a few numbers: its answers, its failures, its bands and their audit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch

from grisaille.array_types import Array
from grisaille.confidence.prediction import Predictor
from grisaille.errors import GrisailleError
from grisaille.inspection.inspection import Inspection
from grisaille.inspection.predictions import predictor_for
from grisaille.language.black_box import BlackBox


@dataclass(frozen=True, slots=True)
class BoxOverview:
    """One black box in a few numbers.

    Attributes:
        box: Its name.
        answers: How many answers it gave.
        failures: How many evaluations gave no answer.
        predicted: How many answers were predicted before they came: those that are audited.
        inside: How many of these lie inside their bands.
        widening: By how much bounds widen its bands after the audit.
        width: Mean width of its bands over the design space, before the audit widens them, in
            standard deviations of its answers; None if it cannot be predicted yet.
        width_at_start: The same before the strategy chose its first point.
        conclusions: What was concluded while learning it, such as whether it is noisy.
    """

    box: str
    answers: int
    failures: int
    predicted: int
    inside: int
    widening: float
    width: float | None
    width_at_start: float | None
    conclusions: tuple[str, ...]


def box_overviews(inspection: Inspection) -> list[BoxOverview]:
    """All black boxes of the problem, in its order."""
    problem, history = inspection.problem, inspection.history
    counts, failed = history.counts(), Counter(failure.box for failure in history.failures)
    try:
        now: Predictor | None = inspection.predictor
    except GrisailleError:  # nothing to predict from yet
        now = None
    start = _predictor_at_start(inspection)
    found = []
    for box in problem.boxes:
        audit = inspection.calibration.get(box.name)
        widths = [
            None if predictor is None else _mean_width(inspection, predictor, box)
            for predictor in (now, start)
        ]
        found.append(
            BoxOverview(
                box.name,
                answers=counts.get(box.name, 0),
                failures=failed[box.name],
                predicted=0 if audit is None else audit.answers,
                inside=0 if audit is None else audit.inside,
                widening=1.0 if audit is None else audit.factor,
                width=widths[0],
                width_at_start=widths[1],
                conclusions=() if audit is None else audit.conclusions,
            )
        )
    return found


def _predictor_at_start(inspection: Inspection) -> Predictor | None:
    """Predictions from what was known before the strategy chose a point; None without any."""
    try:
        return predictor_for(inspection.problem, inspection.before_choices(), inspection.strategy)
    except GrisailleError:
        return None


def _mean_width(inspection: Inspection, predictor: Predictor, box: BlackBox) -> float:
    """The mean width of the bands of a black box, in standard deviations of its answers."""
    _, answers = inspection.history.data(box.name, box.inputs, box.outputs)
    spread: Array = answers.std(0) if len(answers) > 1 else np.ones(box.outputs)
    calls = [call for call in inspection.problem.program.calls if call.box is box]
    states = torch.tensor(inspection.states[box.name])
    with torch.no_grad():
        lower, upper = predictor.middle.band(calls[0], states)
    width = (upper - lower).numpy() / np.where(spread > 0, spread, 1.0)
    return float(width.mean())
