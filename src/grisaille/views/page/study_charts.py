"""Charts and constraint tables of a study, as its page and its report show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import ModelError
from grisaille.study.trial_tables import how_met, tightness
from grisaille.views.inspection.learned_model import LearnedModel
from grisaille.views.inspection.slices import Slice
from grisaille.views.page.chart import Chart
from grisaille.views.page.facts import StudyFacts, number

# --- study charts ---------------------------------------------------------------------------------
# The charts of a study: convergence, constraints, slices, calibration, trials side by side.

_SMALL = (420, 250)
_MOST_LINES = 400
# More dots than this are drawn without a text for each: a browser would need long for them.
_MOST_DOTS = 200


def convergence_chart(facts: StudyFacts) -> Chart | None:
    """Best value, bound and trials; None before the first trial."""
    went = facts.went
    if not len(went.numbers):
        return None
    bound = went.carried_bound
    focus = np.concatenate([went.best, bound])
    focus = focus[np.isfinite(focus)]
    focus = focus if len(focus) else went.objective
    least, most = (np.quantile(focus, q) for q in (0.02, 0.98))
    room = 0.15 * (most - least) or 0.05 * (1 + abs(most))
    chart = Chart(
        f"Best value and bound of {facts.objective} over {len(went.numbers)} trials",
        went.numbers,
        [least - room, most + room],
        x_label="trial",
        y_label=f"{facts.objective}{f' in{facts.unit}' if facts.unit else ''} ({facts.verb})",
    )
    both = np.isfinite(went.best) & np.isfinite(bound)
    chart.area(went.numbers[both], bound[both], went.best[both], "gap", stepped=True)
    names = [
        f"trial {kind}" if feasible else "trial infeasible cross"
        for kind, feasible in zip(went.kinds, went.feasible, strict=True)
    ]
    if len(names) > _MOST_DOTS:
        _many_dots(chart, went.numbers, went.objective, names)
    else:
        trials = zip(went.numbers, went.objective, went.feasible, went.kinds, names, strict=True)
        for place, value, feasible, kind, name in trials:
            text = f"trial {place:.0f}, {kind}: {number(value)}{'' if feasible else ', infeasible'}"
            chart.dot(place, value, name, text=text)
    chart.steps(went.numbers, went.best, "best")
    chart.steps(went.numbers, bound, "bound")
    return chart


def gap_chart(facts: StudyFacts) -> Chart | None:
    """The gap on a logarithmic axis; None while there is none."""
    gap = np.where(facts.went.gap > 0, facts.went.gap, np.nan)
    if not np.isfinite(gap).any():
        return None
    chart = Chart(
        "Gap between best value and bound, on a logarithmic axis",
        facts.went.numbers,
        gap,
        x_label="trial",
        y_label="gap",
        y_logarithmic=True,
        size=(640, 180),
    )
    chart.steps(facts.went.numbers, gap, "best")
    return chart


def constraint_chart(facts: StudyFacts, constraint: int) -> Chart | None:
    """Slack of one constraint by trial: positive where it is met."""
    trials = [t for t in facts.history if constraint < len(t.constraints)]
    if not trials:
        return None
    slack = np.array([-t.constraints[constraint] for t in trials])
    slack = slack[np.isfinite(slack)]
    if not len(slack):
        return None
    numbers = [float(t.number) for t in trials if np.isfinite(t.constraints[constraint])]
    chart = Chart(
        f"Slack of {facts.constraints[constraint]} by trial; negative where it is violated",
        numbers,
        [*slack, 0.0],
        x_label="trial",
        y_label="slack",
        size=(320, 150),
    )
    chart.horizontal(0.0, "limit")
    names = ["trial" if value >= 0 else "trial infeasible cross" for value in slack]
    _many_dots(chart, np.array(numbers), slack, names)
    return chart


def _many_dots(chart: Chart, x: Array, y: Array, names: Sequence[str]) -> None:
    """One shape per name, in the order in which names first occur."""
    found = np.array(names)
    for name in dict.fromkeys(names):
        chart.dots(x[found == name], y[found == name], name)


def slice_chart(piece: Slice) -> Chart:
    """One slice: mean, band, answers, and the best point."""
    inside = np.concatenate([piece.lower, piece.upper, piece.mean])
    chart = Chart(
        f"{piece.value} along {piece.along}: prediction, band and answers",
        [*piece.positions, piece.at],
        inside,
        x_label=f"{piece.along}{f' in {piece.unit}' if piece.unit else ''}",
        y_label=piece.value,
        x_logarithmic=piece.is_logarithmic,
        x_labels=piece.labels,
        size=_SMALL,
    )
    chart.vertical(piece.at, "here")
    if piece.labels:
        for place, low, high, mean in zip(
            piece.positions, piece.lower, piece.upper, piece.mean, strict=True
        ):
            chart.bar(place, low, high, "band")
            chart.dot(place, mean, "mean")
    else:
        chart.area(piece.positions, piece.lower, piece.upper, "band")
        chart.line(piece.positions, piece.mean, "mean")
        hopeless = np.where(piece.may_be_feasible, np.nan, piece.mean)
        chart.line(piece.positions, hopeless, "hopeless")
    for (place, value), near in zip(piece.seen, piece.nearness, strict=True):
        if near > 0.02:
            chart.dot(place, value, "answer", strength=0.15 + 0.85 * near, text=number(value))
    return chart


def calibration_chart(model: LearnedModel, output: str) -> Chart:
    """Each answer against what the others predict of it, with two deviations.

    Raises:
        ModelError: The model has no such predictions.
    """
    table = model.leave_one_out()
    if table.empty:
        raise ModelError(f"{output} has no answer yet")
    answers, means = table[output].to_numpy(), table[f"{output} mean"].to_numpy()
    deviation = table[f"{output} deviation"].to_numpy()
    spread = np.concatenate([answers, means])
    chart = Chart(
        f"Answers of {output} against what the other answers predict",
        answers,
        [*spread, *(means - 2 * deviation)[np.abs(answers - means) < 6 * deviation]],
        x_label="answer",
        y_label="predicted without it",
        size=_SMALL,
    )
    ends = [float(answers.min()), float(answers.max())]
    chart.line(ends, ends, "limit")
    for answer, mean, width in zip(answers, means, deviation, strict=True):
        outside = abs(answer - mean) > 2 * width
        chart.bar(answer, mean - 2 * width, mean + 2 * width, "band thin")
        chart.dot(answer, mean, "outside cross" if outside else "answer", text=number(answer))
    return chart


def contour_chart(
    better: Array, feasible: Array, x: Array, y: Array, names: Sequence[str], best: Sequence[float]
) -> Chart:
    """Shades of the minimized objective over two entries, (rows, columns): dark is good."""
    chart = Chart(
        f"Predicted objective over {names[0]} and {names[1]}: darker is better",
        x,
        y,
        x_label=names[0],
        y_label=names[1],
        size=(520, 420),
    )
    ranks = better.ravel().argsort().argsort().reshape(better.shape) / max(better.size - 1, 1)
    chart.cells(x, y, 1 - ranks, feasible)
    chart.dot(best[0], best[1], "here-dot", radius=5)
    return chart


def parallel_chart(facts: StudyFacts) -> Chart | None:
    """All trials over all entries of the design point; the best ones are darkest."""
    trials = [t for t in facts.history if len(t.x) == len(facts.entries)][-_MOST_LINES:]
    if not trials or not facts.entries:
        return None
    low, high = (np.array(facts.settings[end], dtype=float) for end in ("lower", "upper"))
    span = np.where(high > low, high - low, 1.0)
    order = sorted(trials, key=lambda t: (t.violation > 0, t.objective), reverse=True)
    names = tuple(n if len(n) <= 12 else n[:11] + "…" for n in facts.entries)
    chart = Chart(
        f"{len(trials)} trials over {len(names)} variables, each from its lower to its upper bound",
        [],
        [0.0, 1.0],
        x_labels=names,
        y_label="from lower to upper bound",
        size=(max(640, min(1400, 90 * len(names))), 280),
    )
    positions = [float(k) for k in range(len(names))]
    for rank, trial in enumerate(order):
        heights = ((trial.x - low) / span).tolist()
        tenth = int(10 * rank / len(order))
        name = "infeasible-line" if trial.violation > 0 else f"rank rank{tenth}"
        if len(names) == 1:
            chart.dot(0.0, heights[0], name)
        chart.line(positions, heights, name)
    return chart


# --- constraints ----------------------------------------------------------------------------------
# The constraints of a study side by side: slack at the best point, and how it went.

# More charts than this say little.
_MOST_CHARTS = 12


@dataclass(frozen=True, slots=True)
class ConstraintRow:
    """One constraint.

    Attributes:
        name: Its name, or its formula.
        formula: Its formula, if it has a name; else empty.
        slack: The room that is left at the best point, with its unit.
        remark: "violated", "active", by which tolerance it is met, or empty.
        is_tightest: Whether no other constraint is tighter at the best point.
        met: In how many trials it was met, in percent.
        chart: Its slack by trial; None if there are too many constraints, or no trial.
    """

    name: str
    formula: str
    slack: str
    remark: str
    is_tightest: bool
    met: float
    chart: Chart | None


def constraint_rows(facts: StudyFacts) -> list[ConstraintRow]:
    """All constraints, in the order of the problem."""
    trials = [t for t in facts.history if len(t.constraints) == len(facts.constraints)]
    shown = facts.best or facts.least_violation
    if not trials or shown is None or len(shown.constraints) != len(facts.constraints):
        return []
    bodies, labels = shown.constraints, facts.labels
    tight = tightness(bodies, facts.history)
    met = np.mean([t.violations <= 0 for t in trials], axis=0)
    order = list(np.argsort(-tight, kind="stable"))
    rows = []
    for k, name in enumerate(facts.constraints):
        unit, formula = labels["constraint_units"][k], labels["formulas"][k]
        tolerance, met_here = labels["tolerances"][k], bool(shown.violations[k] <= 0)
        slack = -(bodies[k] + tolerance) + 0.0
        rows.append(
            ConstraintRow(
                name,
                "" if formula == name else formula,
                f"{number(slack, 4)} {unit or ''}".strip(),
                how_met(bodies[k], met_here, slack, tight[k], tolerance),
                order[0] == k,
                100 * float(met[k]),
                constraint_chart(facts, k) if k in order[:_MOST_CHARTS] else None,
            )
        )
    return rows
