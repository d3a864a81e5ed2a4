"""The report of a study: one file that needs no script, no server and no network."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from grisaille.errors import GrisailleError, ModelError, cut, printable, shortened
from grisaille.records import untested
from grisaille.study.one_thread import one_thread
from grisaille.study.result import Assurance, Result
from grisaille.study.stored_studies import Stored
from grisaille.study.study import Study
from grisaille.study.study_summary import conclusion_of
from grisaille.views.charts import Chart, convergence_chart, gap_chart
from grisaille.views.inspection.inspection import Inspection
from grisaille.views.page.facts import StudyFacts, constraint_rows, number
from grisaille.views.page.graph import graph_svg
from grisaille.views.page.learned_parts import (
    BoxPart,
    Row,
    answers_text,
    box_part,
    graph_notes,
    influence_rows,
    objective_slices,
)
from grisaille.views.page.rendering import render

if TYPE_CHECKING:
    from grisaille.views.page.study_page import StudyPage

_PACKAGES = ("grisaille", "torch", "botorch", "gpytorch", "numpy", "scipy")
_ASSURANCE = {
    Assurance.PROVED: "This is proved, while the declared constants hold.",
    Assurance.CERTIFIED: "This is certified for the learned bands: it holds as long as they do.",
    Assurance.ESTIMATED: "This is an estimate: it rests on a search that may miss something.",
}
# Black boxes beyond these are left out of a report, which would be too long.
_MOST_BOXES = 20


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a report says of what was learned; empty where the problem is not known.

    Attributes:
        boxes: One part per black box.
        variables: What each variable does.
        box_rows: What each black box does.
        slices: Slices of the objective.
        notes: Lines for the nodes of the graph.
        trouble: Why something is missing; empty if nothing is.
    """

    boxes: Sequence[BoxPart] = ()
    variables: Sequence[Row] = ()
    box_rows: Sequence[Row] = ()
    slices: Sequence[Chart] = ()
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    trouble: str = ""


def write_report(result: Result, path: str | os.PathLike[str], name: str) -> None:
    """Write the report of a result; see `Result.report`.

    Raises:
        ModelError: The file cannot be written.
    """
    if not (isinstance(path, str | os.PathLike) and str(path).strip()):
        raise ModelError(f"report({shortened(path)}): pass the path of a file, such as study.html")
    facts = StudyFacts.of_result(result, name)
    learnt = _learnt(lambda: Inspection(result.problem, result.history, result.strategy))
    write_text(Path(path), _filled(facts, result, learnt, ""))


def write_text(path: Path, text: str) -> None:
    """Write a file; raises ModelError if that is not possible."""
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ModelError(f"the report cannot be written to {cut(str(path))!r}: {why}") from error


def stored_report(stored: Stored, open_study: Callable[[], Study]) -> str:
    """The report of a stored study as HTML.

    Args:
        stored: What is recorded.
        open_study: Opens it with its problem. Where that is not possible, the report shows what is
            recorded, and says why it shows no more.
    """
    facts = StudyFacts.of_state(stored.name, stored.state)
    command = f"grisaille report {shlex.quote(stored.name)}"
    try:
        study = open_study()
    except GrisailleError as error:
        return _filled(facts, None, Learnt(trouble=str(error)), command)
    with study, one_thread():
        result = study.result()
        learnt = _learnt(lambda: Inspection(study.problem, study.history, study.strategy))
    return _filled(facts, result, learnt, command)


def study_report(page: StudyPage) -> str:
    """The report of a study as its page shows it."""
    result = None
    if page.study is not None and page.at is None:
        with one_thread():
            result = Study.result(page.study)  # a page that is read records nothing
    command = f"grisaille report {shlex.quote(page.name)}"
    return _filled(page.facts, result, _learnt(page.inspection), command)


def _learnt(inspection_of: Callable[[], Inspection]) -> Learnt:
    """What was learned, as far as it can be shown."""
    try:
        with one_thread():
            inspection = inspection_of()
            names = [box.name for box in inspection.problem.boxes][:_MOST_BOXES]
            boxes = [box_part(inspection, name) for name in names]
            variables, box_rows = influence_rows(inspection)
            slices = objective_slices(inspection)
            notes = graph_notes([box.overview for box in boxes], [])
    except GrisailleError as error:
        return Learnt(trouble=str(error))
    return Learnt(boxes, variables, box_rows, slices, notes)


def _filled(facts: StudyFacts, result: Result | None, learnt: Learnt, command: str) -> str:
    if result is not None:  # it is newer than what is recorded
        facts = replace(facts, concluded=conclusion_of(result))
    course = facts.course()
    charts = [convergence_chart(course), gap_chart(course)] if len(facts.history) else []
    counts = facts.history.counts()
    notes = {box: [answers_text(counts.get(box, 0), 0)] for box in facts.boxes}
    return render(
        "report.html",
        facts=facts,
        result=result,
        answer="" if result is None else answer_text(facts, result),
        recommended=_recommended(facts, result),
        verdict="" if result is None else printable(str(result)),
        graph=graph_svg(facts.graph, {**notes, **learnt.notes}),
        charts=[chart for chart in charts if chart is not None],
        constraints=constraint_rows(facts),
        learnt=learnt,
        counts={box: counts.get(box, 0) for box in facts.boxes},
        cost=float(facts.went.cost[-1]) if len(facts.went.cost) else 0.0,
        versions=_versions(),
        command=command,
    )


def _recommended(facts: StudyFacts, result: Result | None) -> list[tuple[str, str]]:
    """Names and values of the recommended point; none before the first trial."""
    if result is None or result.x is None:
        return []
    return facts.point(result.history.trials[result["best_trial"]])


def answer_text(facts: StudyFacts, result: Result) -> str:
    """What was found, in a sentence or two."""
    if result.x is None:
        return "No trial is complete, so there is no answer yet."
    value = f"{number(result.fun, 8)}{facts.unit}"
    if not result.success:
        return (
            "No point tried meets all constraints. The recommended point violates them by "
            f"{number(result.maxcv, 3)} and has the value {value}."
        )
    text = f"The recommended point is feasible and has the value {value}."
    if result.assurance is Assurance.NONE:
        return f"{text} There is no bound on how much better the optimum can be."
    ends = f"{number(result.lower_bound, 8)} and {number(result.upper_bound, 8)}{facts.unit}"
    if result.assurance is Assurance.UNTESTED:
        doubted = untested(result.learned, result.history)
        sure = f"This is {doubted}: too few answers have tested the learned bands."
    else:
        sure = _ASSURANCE[result.assurance]
    return f"{text} The optimum lies between {ends}, a gap of {number(result.gap, 3)}. {sure}"


@cache
def _versions() -> list[tuple[str, str]]:
    found = [("Python", platform.python_version())]
    for package in _PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:  # not installed as a package
            continue
    return found
