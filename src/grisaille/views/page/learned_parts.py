"""Parts of a page that need the problem: what was learned, what matters, where the gap hides."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from grisaille.array_types import Array
from grisaille.belief.predictions import Predictor
from grisaille.errors import GrisailleError, ModelError
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.units import unit_of_entry
from grisaille.language.values import design_kinds, entry_names
from grisaille.records import History
from grisaille.strategies.strategy import Strategy
from grisaille.study.one_thread import one_thread
from grisaille.views.charts import (
    Chart,
    calibration_chart,
    calibrations,
    contour_chart,
    most_telling,
    slice_charts,
)
from grisaille.views.inspection.influence import (
    BoxInfluence,
    box_influence,
    by_effect,
    variable_influence,
)
from grisaille.views.inspection.inspection import Inspection
from grisaille.views.inspection.predictions import predictor_for
from grisaille.views.inspection.slices import box_slices, design_slices
from grisaille.views.page.facts import number

# --- box overview ---------------------------------------------------------------------------------
# Each black box in a few numbers: its answers, its failures, its bands and their audit.


@dataclass(frozen=True, slots=True)
class BoxOverview:
    """One black box in a few numbers.

    Attributes:
        box: Its name.
        answers: How many answers it gave.
        failures: How many evaluations gave no answer.
        predicted: How many answers were predicted before they came: those that are audited.
        inside: How many of these lie inside their bands.
        weight: How many answers far from all others would have tested as much.
        reach: The half-width of its bands behind the bound, in deviations; None without a bound.
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
    weight: float
    reach: float | None
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
                weight=0.0 if audit is None else audit.weight,
                reach=None if audit is None or np.isnan(audit.reach) else audit.reach,
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


# --- learned parts --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LearnedConstants:
    """The constants of the parts of a page that are learned.

    Attributes:
        kept: Histories of which the learned parts are kept. A choice.
        grid: Points of a contour along each variable. A choice of layout.
    """

    kept: int = 4
    grid: int = 25


LEARNED = LearnedConstants()


@dataclass(frozen=True, slots=True)
class BoxPart:
    """What a page shows of one black box.

    Attributes:
        name: Its name.
        lines: What was learned, in sentences of a few words.
        outputs: Names of its outputs.
        output: The one that is shown.
        slices: Charts of this output along each input.
        calibration: Chart of leave-one-out predictions; None if there are none.
        no_calibration: Why there are none; empty if there are some.
        lengthscales: Names of inputs, and how far each must move for the output to change.
        failures: Inputs and reasons of evaluations that failed.
        overview: Its numbers.
    """

    name: str
    lines: list[str]
    outputs: list[str]
    output: str
    slices: list[Chart]
    calibration: Chart | None
    no_calibration: str
    lengthscales: list[tuple[str, str]]
    failures: list[tuple[str, str]]
    overview: BoxOverview


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table with a bar: a name, texts, and the length of the bar from 0 to 100."""

    name: str
    texts: tuple[str, ...]
    percent: float


class Learned:
    """What was learned from histories. The latest ones are kept, and one is learned at a time."""

    def __init__(self) -> None:
        self._kept: OrderedDict[History, Inspection] = OrderedDict()
        self._lock = threading.Lock()

    def inspection(self, problem: Problem, history: History, strategy: Strategy) -> Inspection:
        """What can be looked at after a history."""
        if problem.causal is not None:
            raise ModelError("what was learned from interventions is not shown yet")
        if history not in self._kept:
            self._kept[history] = Inspection(problem, history, strategy)
            while len(self._kept) > LEARNED.kept:
                self._kept.popitem(last=False)
        return self._kept[history]

    def box(self, inspection: Inspection, name: str, output: str | None) -> BoxPart:
        """One black box and one of its outputs; the first one by default."""
        with self._lock, one_thread():
            return box_part(inspection, name, output)

    def notes(self, inspection: Inspection, with_shares: bool) -> dict[str, list[str]]:
        """Lines for each black box of the graph: answers, band, audit, share of the gap."""
        with self._lock, one_thread():
            influence = box_influence(inspection) if with_shares else []
            return graph_notes(box_overviews(inspection), influence)

    def influence(self, inspection: Inspection) -> tuple[list[Row], list[Row]]:
        """What each variable and each black box does."""
        with self._lock, one_thread():
            return influence_rows(inspection)

    def slices(self, inspection: Inspection) -> list[Chart]:
        """Slices of the objective along the variables that matter most."""
        with self._lock, one_thread():
            return objective_slices(inspection)

    def contour(self, inspection: Inspection, first: int, second: int) -> Chart:
        """The predicted objective over two entries of the design point."""
        with self._lock, one_thread():
            return contour_of(inspection, first, second)


def box_part(inspection: Inspection, name: str, output: str | None = None) -> BoxPart:
    """What a page shows of a black box.

    Raises:
        GrisailleError: There is nothing to show yet.
    """
    model = inspection.model(name)
    chosen = output if output in model.output_names else model.output_names[0]
    calibration, complaint = None, ""
    try:
        (row,) = calibrations(model, [chosen])
        calibration = calibration_chart(row)
    except GrisailleError as error:
        complaint = str(error)
    try:
        scales = model.lengthscales.loc[chosen]
        lengthscales = [(str(n), number(float(s), 3)) for n, s in scales.items()]
    except GrisailleError:  # some models have none
        lengthscales = []
    overview = next(o for o in box_overviews(inspection) if o.box == name)
    return BoxPart(
        name,
        repr(model).splitlines()[:6],
        list(model.output_names),
        chosen,
        slice_charts(most_telling(box_slices(inspection, name, chosen))),
        calibration,
        complaint,
        lengthscales,
        [
            (model.box.describe(failure.inputs), failure.reason)
            for failure in inspection.history.failures
            if failure.box == name
        ],
        overview,
    )


def graph_notes(
    overviews: Sequence[BoxOverview], influence: Sequence[BoxInfluence]
) -> dict[str, list[str]]:
    """A few words about each black box, for its node of the graph."""
    shares = {row.box: row.share for row in influence}
    notes = {}
    for overview in overviews:
        lines = [answers_text(overview.answers, overview.failures)]
        if overview.width is not None and overview.width_at_start:
            lines.append(f"band width {overview.width / overview.width_at_start:.0%} of start")
        if overview.predicted:
            lines.append(f"{overview.inside} of {overview.predicted} inside bands")
        share = shares.get(overview.box)
        if share is not None:
            lines.append(f"{share:.0%} of the gap")
        notes[overview.box] = lines
    return notes


def answers_text(answers: int, failures: int) -> str:
    """How many answers and failures there are."""
    text = f"{answers} answer{'s' * (answers != 1)}"
    return text + (f", {failures} failed" if failures else "")


def influence_rows(inspection: Inspection) -> tuple[list[Row], list[Row]]:
    """Variables and black boxes, those that move the objective most first."""
    variables = by_effect(variable_influence(inspection))
    boxes = by_effect(box_influence(inspection))
    longest = max((row.effect for row in variables), default=0.0) or 1.0
    widest = max((row.effect for row in boxes), default=0.0) or 1.0
    return (
        [
            Row(v.name, (number(v.effect, 3), number(v.gain, 3)), 100 * (v.effect / longest))
            for v in variables
        ],
        [
            Row(
                b.box,
                (number(b.effect, 3), "–" if b.share is None else f"{b.share:.0%}"),
                100 * (b.effect / widest),
            )
            for b in boxes
        ],
    )


def objective_slices(inspection: Inspection) -> list[Chart]:
    """Slices of the objective through the best point, along the entries that matter most."""
    return slice_charts(most_telling(design_slices(inspection)), inspection.problem.objective_unit)


def contour_of(inspection: Inspection, first: int, second: int) -> Chart:
    """The predicted objective over two entries, all others at the best point."""
    problem, best = inspection.problem, inspection.best_trial.x
    space, kinds = problem.program.space, design_kinds(problem.variables)
    if first == second or not all(0 <= e < len(best) for e in (first, second)):
        raise ModelError("a contour needs two different variables")
    grids = []
    for entry in (first, second):
        low, high = space.lower[entry], space.upper[entry]
        grids.append(kinds[entry].held(np.linspace(low, high, LEARNED.grid)))
    points = np.tile(best, (len(grids[0]) * len(grids[1]), 1))
    columns, rows = np.meshgrid(*grids)
    points[:, first], points[:, second] = columns.ravel(), rows.ravel()
    expressions = [problem.objective, *(constraint.body for constraint in problem.constraints)]
    middle = inspection.predictor.predict(expressions, points)
    better = (problem.sense * middle.mean[:, 0]).reshape(columns.shape)
    allowed = np.all(middle.lower[:, 1:] <= 0, axis=1).reshape(columns.shape)
    names = [names_with_units(inspection)[entry] for entry in (first, second)]
    return contour_chart(better, allowed, grids[0], grids[1], names, (best[first], best[second]))


def names_with_units(inspection: Inspection) -> list[str]:
    """A name for each entry of the design point, with its unit."""
    return [
        f"{name} in {unit}" if (unit := unit_of_entry(v.unit, entry)) else name
        for v in inspection.problem.variables
        for entry, name in enumerate(entry_names(v.name, v.shape))
    ]


def cheap_notes(
    counts: Mapping[str, int], failures: Mapping[str, int], boxes: Iterable[str]
) -> dict[str, list[str]]:
    """What the graph says of each black box without its problem: answers and failures."""
    return {box: [answers_text(counts.get(box, 0), failures.get(box, 0))] for box in boxes}
