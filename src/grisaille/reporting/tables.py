"""Results as tables and text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.errors import counted, printable
from grisaille.language.declared_unit import unit_text
from grisaille.language.design_points import names_of_entries
from grisaille.language.problem import Problem
from grisaille.language.unknowns import names_at_bounds
from grisaille.language.value_kinds import design_kinds
from grisaille.markup import labelled
from grisaille.records import REFUTED, History, Trial, first_tested, untested
from grisaille.reporting.constraint_table import constraint_lines, tightness
from grisaille.reporting.trial_data import trial_data

if TYPE_CHECKING:
    import pandas


def design_names(problem: Problem) -> list[str]:
    """A name for each entry of a flat design point: `x[0]`, `x[1]`, `temperature`."""
    return names_of_entries(problem.variables)


def distinct_names(names: Iterable[str], taken: set[str]) -> list[str]:
    """The names, with a number where one is taken, as in `kind (2)`; adds them to the taken."""
    found = []
    for name in names:
        own, number = name, 1
        while own in taken:
            number += 1
            own = f"{name} ({number})"
        taken.add(own)
        found.append(own)
    return found


def _constraint_columns(problem: Problem) -> list[str]:
    """The names of constraints, and `constraint[k]` for the ones without a name."""
    has_name = [c.name is not None for c in problem.constraints for _ in c.labels]
    return [
        name if named else f"constraint[{k}]"
        for k, (name, named) in enumerate(zip(problem.constraint_names, has_name, strict=True))
    ]


def outcome_text(problem: Problem, trial: Trial) -> str:
    """Objective of a complete trial in the user's sense, and its violation if there is one."""
    violated = f", violation {trial.violation:.2e}" if trial.violation else ""
    name, unit = problem.objective_name or "objective", unit_text(problem.objective_unit)
    return f"{name} {problem.sense * trial.objective:.6g}{unit}{violated}"


def trials_table(
    problem: Problem, history: History, learned: Iterable[str] = ()
) -> pandas.DataFrame:
    """One row per trial, objective and bound in the user's sense.

    Args:
        problem: The problem.
        history: The trials.
        learned: Black boxes whose bands are learned, and certify nothing until they are tested.
    """
    import pandas

    entries, boxes = design_names(problem), [box.name for box in problem.boxes]
    kinds = design_kinds(problem.variables)
    last = ["objective", "bound", "certified bound", "violation"]
    seconds = ["seconds suggesting", "seconds evaluating"]
    counts = [f"evaluations {box}" for box in boxes]
    taken = {"trial", "kind", *entries, *last, *counts, *seconds}
    columns = distinct_names(_constraint_columns(problem), taken)
    rows: list[dict[str, Any]] = []
    since = first_tested(learned, history)
    for trial in history:
        answered = [seen.box for seen in trial.observations]
        data = trial_data(
            trial.suggestion,
            trial,
            answered,
            sense=problem.sense,
            entries=entries,
            kinds=kinds,
            boxes=boxes,
            tested=trial.number >= since,
        )
        row: dict[str, Any] = {"trial": trial.number, "kind": data.kind, **(data.x or {})}
        row["objective"] = data.objective
        row["bound"] = np.nan if data.bound is None else data.bound
        row["certified bound"] = np.nan if data.certified_bound is None else data.certified_bound
        row["violation"] = data.violation
        row.update(zip(columns, data.constraints or [], strict=False))
        row.update(zip(counts, data.evaluations.values(), strict=True))
        row.update(zip(seconds, trial.seconds, strict=True))
        rows.append(row)
    return pandas.DataFrame(rows)


def describe_result(result: Any) -> str:
    """A result for a person to read."""
    return printable("\n".join(f"{label:<12} {text}" for label, text in _rows(result)))


def result_html(result: Any) -> str:
    """The same for a notebook."""
    return labelled(_rows(result))


def _rows(result: Any) -> list[tuple[str, str]]:
    """What is said of a result: labels, and what they say."""
    problem: Problem = result.problem
    goal = "minimum" if problem.sense == 1 else "maximum"
    rows = [("status", f"{result.status}: {result.message}")]
    if result.certificate is not None:
        blamed = result.certificate.blame()
        which = "which is" if len(blamed) == 1 else "one of which is"
        least = f"{result.certificate.least_violation:.3g} at every point"
        rows.append(("to blame", f"{' and '.join(blamed)}, {which} violated by at least {least}"))
    if result.x is None:
        seen = sum(result.evaluations.values())
        what = "every evaluation failed" if result.failures else "nothing was evaluated"
        what = f"no trial is complete; {seen} evaluations" if seen else what
        return [*rows, ("x", what)]
    doubt = "infeasible" if result.maxcv > 0 else "feasible in the mean only"
    unit = unit_text(problem.objective_unit)
    named = "" if problem.objective_name is None else f"{problem.objective_name} = "
    rows.append((goal, f"{named}{result.fun:.8g}{unit}{'' if result.success else f'   ({doubt})'}"))
    low, high = f"{result.lower_bound:.8g}", f"{result.upper_bound:.8g}"
    sure = f"bound {result.assurance}"
    if result.assurance == "certified":
        sure += " for learned bands" if result.learned else " for bands of constant width"
    sure = f" ({sure})"
    if result.assurance == "untested":
        sure = f", {untested(result.learned, result.history)}"
    bounded = np.isfinite(result.lower_bound if problem.sense == 1 else result.upper_bound)
    if not bounded and result.success:
        sure = " (no bound)"
    if result.certificate is None:
        rows.append(("optimum in", f"[{low}, {high}]{unit}   gap {result.gap:.3g}{sure}"))
    if problem.constraints:
        tightest = int(np.argmax(tightness(result.constr, result.history)))
        named = problem.constraint_names[tightest]
        rows.append(("violation", f"{result.maxcv:.3g}   (tightest: {named})"))
        best = result.history.trials[result["best_trial"]]
        allowed = best.allowed if best.lenient is None else best.lenient
        table = constraint_lines(problem, result.constr, result.history, allowed)
        rows += [("" if k else "constraints", line) for k, line in enumerate(table)]
    if problem.causal is not None:
        done = problem.causal.describe(result.x)
        rows.append(("set", ", ".join(f"{n} = {v:.6g}" for n, v in done.items()) or "-"))
    chosen = problem.variables if problem.causal is None else problem.causal.model.variables
    # Decisions first: they are what one does; unknowns follow from them.
    for variable in sorted(chosen, key=lambda v: v.is_unknown):
        found = result[variable]
        value = np.array2string(np.asarray(found), precision=6, max_line_width=90)
        shown = found if isinstance(found, str) else f"{value}{unit_text(variable.unit)}"
        solved = "   (unknown, solves the equations)" if variable.is_unknown else ""
        if variable.is_unknown and any(names_at_bounds([variable], np.ravel(found))):
            solved = "   (unknown, at its bound)"
        rows.append((variable.name, f"{shown}{solved}"))
    counts = ", ".join(f"{name} {count}" for name, count in result.evaluations.items())
    rows.append(("evaluations", f"{counts or 'none needed'} in {counted(result.nit, 'trial')}"))
    if result.failures:
        many = len(result.failures)
        rows.append(("failures", f"{many}, the last one: {result.failures[-1].reason}"))
    rows += _calibration_rows(result.calibration)
    if result.learned:
        rows.append(("learned", f"hyper-parameters of {', '.join(result.learned)}"))
    return rows


def _calibration_rows(calibration: Sequence[Any]) -> list[tuple[str, str]]:
    """How far the bands were right, in a line; and what was concluded about noise left out."""
    rows = []
    answers = sum(row.answers for row in calibration)
    if answers:
        text = f"{sum(row.inside for row in calibration)} of {answers} answers were inside"
        wider = [
            f"{row.box} by {row.factor:.2g}" for row in calibration if 1 < row.factor <= REFUTED
        ]
        if wider:
            text += f"; the bound widens those of {', '.join(wider)}"
        text = "; ".join([text, *(row.complaint for row in calibration if row.complaint)])
        rows.append(("bands", text))
    concluded = [f"{row.box} {text}" for row in calibration for text in row.conclusions]
    return rows + [("concluded", text) for text in concluded]
