"""Trials, constraints and results as tables and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import counted, printable
from grisaille.language.design_points import names_of_entries
from grisaille.language.expression import TOO_LARGE
from grisaille.language.problem import DEFAULT_TOLERANCE, Problem
from grisaille.language.units import unit_text
from grisaille.language.unknowns import names_at_bounds
from grisaille.language.values import Value, ValueKind, design_kinds, readable
from grisaille.markup import labelled
from grisaille.metrics import violations
from grisaille.records import History, Suggestion, Trial, first_tested, untested

if TYPE_CHECKING:
    import pandas


# --- trial data -----------------------------------------------------------------------------------
# A trial as its user knows it: their names, their sense of the objective.


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


# --- constraint table -----------------------------------------------------------------------------
# The constraints of a problem side by side, each with its slack in its own unit.


@dataclass(frozen=True, slots=True)
class TableConstants:
    """The constants of tables of trials.

    Attributes:
        lines: Constraints that are shown, the tightest ones. A choice of layout.
        name: Letters of a formula that fits into a terminal. A choice of layout.
        active: A constraint is active if its slack is at most this part of its size. A choice.
    """

    lines: int = 8
    name: int = 44
    active: float = 0.01


TABLES = TableConstants()


def tightness(constraints: Array, history: History) -> Array:
    """Constraint bodies (K,) in parts of their sizes over the trials: comparable across units."""
    with np.errstate(over="ignore", invalid="ignore"):  # bodies may be infinite
        sizes = history.constraint_sizes()
        usable = np.isfinite(sizes) & (sizes > 0)
        scaled = constraints / np.where(usable, sizes, 1.0)
    return np.nan_to_num(scaled, nan=np.inf, posinf=np.inf, neginf=-np.inf)


def constraint_lines(
    problem: Problem, constraints: Array, history: History, allowed: Array | None = None
) -> list[str]:
    """A table of the constraints at a point: slack, unit, and what is remarkable.

    The two inequalities of an equality are one line, with what its sides differ by.

    Args:
        problem: The problem.
        constraints: The bodies at the point, (K,), met when <= 0.
        history: The trials.
        allowed: How far the bodies may be above 0 (`Trial.allowed`); None for not at all.
    """
    violated = violations(constraints, 0.0 if allowed is None else allowed)
    tight = tightness(constraints, history)
    tolerances, lenience = problem.tolerances, problem.lenience
    names, units = problem.constraint_names, problem.constraint_units
    partners = equality_partners(problem)
    shown = np.array([k for k in range(len(constraints)) if k not in partners.values()])
    worst = [max(tight[k], tight[partners.get(k, k)]) for k in shown.tolist()]
    chosen = np.sort(shown[np.argsort(np.negative(worst), kind="stable")[: TABLES.lines]])
    rows = []
    for k in map(int, chosen):
        slack = -(constraints[k] + tolerances[k]) + 0.0  # no negative zero
        name, amount = names[k], f"slack {slack:.4g}"
        remark = _remark(constraints[k], violated[k] <= 0, slack, tight[k], tolerances[k])
        if k in partners:
            name, amount = name.replace(TOO_LARGE, ""), f"missed by {abs(slack):.4g}"
            met = max(violated[k], violated[partners[k]]) <= 0
            remark = f"{'' if met else 'violated, '}tolerance {tolerances[k]:g}"
            if lenience is not None and lenience[k] and constraints[[k, partners[k]]].max() > 0:
                reach = tolerances[k] + lenience[k]
                verb = "counts" if met else "violated, would count"
                remark = f"{verb} as closed up to {reach:g}; searches aim at {tolerances[k]:g}"
        name = name if len(name) <= TABLES.name else name[: TABLES.name - 3] + "..."
        rows.append((name, f"{amount}{f' {units[k]}' if units[k] else ''}", remark))
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [
        f"{name:<{wide[0]}}  {amount:<{wide[1]}}  {remark}".rstrip()
        for name, amount, remark in rows
    ]
    if len(shown) > TABLES.lines:
        lines.append(f"and {len(shown) - TABLES.lines} more, which are less tight")
    return lines


def equality_partners(problem: Problem) -> dict[int, int]:
    """For the first inequality of each scalar equality, the position of the second one."""
    partners: dict[int, int] = {}
    row = 0
    for constraint in problem.constraints:
        size = constraint.body.size
        if constraint.is_half and not constraint.flipped:
            partners |= {row + entry: row + size + entry for entry in range(size)}
        row += size
    return partners


def _remark(body: float, met: bool, slack: float, tight: float, tolerance: float) -> str:
    remarks = [how_met(body, met, slack, tight, tolerance)]
    if tolerance > 0:
        remarks.append(f"tolerance {tolerance:g}")
    return ", ".join(filter(None, remarks))


def how_met(body: float, met: bool, slack: float, tight: float, tolerance: float) -> str:
    """Say whether a constraint is violated, met within a tolerance only, or active; else nothing.

    Args:
        body: Its body at the point, met when <= 0.
        met: Whether it counts as met there.
        slack: The room that is left by the limit as written.
        tight: Its `tightness`.
        tolerance: Its tolerance, if the user gave one; else 0.
    """
    if not met:
        return "violated"
    if body > 0 and not tolerance:
        return f"met within {DEFAULT_TOLERANCE:g} of the size of its terms"
    if slack < 0:
        return "met within its tolerance"
    return "active" if tight >= -TABLES.active else ""


# --- tables ---------------------------------------------------------------------------------------
# Results as tables and text.


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
        sure += " for learned bands" if result.learned else " for bands of given kernels"
    confidence = getattr(result.strategy, "confidence", None)
    if result.assurance in ("certified", "estimated") and confidence is not None:
        bound = low if problem.sense == 1 else high
        sure += f"; {100 * confidence:g} %: nothing better than {bound}"
    sure = f" ({sure})"
    if result.assurance == "untested":
        sure = f", {untested(result.learned, result.history)}"
    bounded = np.isfinite(result.lower_bound if problem.sense == 1 else result.upper_bound)
    if not bounded and result.success:
        sure = " (no bound)"
    if result.certificate is None:
        rows.append(("optimum in", f"[{low}, {high}]{unit}   gap {result.gap:.3g}{sure}"))
    hopeless = np.nan if result.success or result.certificate is not None else result.p_infeasible
    if np.isfinite(hopeless):
        rows.append(("infeasible", f"with a chance of {_percent(hopeless)}, by what is believed"))
    if problem.constraints:
        scaled = tightness(result.constr, result.history)
        tightest = int(np.argmax(result.constr if result.maxcv > 0 else scaled))
        named = problem.constraint_names[tightest]
        rows.append(("violation", f"{result.maxcv:.3g}   (tightest: {named})"))
        best = result.history.trials[result["best_trial"]]
        allowed = best.allowed if best.lenient is None else best.lenient
        table = constraint_lines(problem, result.constr, result.history, allowed)
        rows += [("" if k else "constraints", line) for k, line in enumerate(table)]
    rows += _design_rows(result)
    counts = ", ".join(f"{name} {count}" for name, count in result.evaluations.items())
    rows.append(("evaluations", f"{counts or 'none needed'} in {counted(result.nit, 'trial')}"))
    if result.failures:
        many = len(result.failures)
        rows.append(("failures", f"{many}, the last one: {result.failures[-1].reason}"))
    rows += _calibration_rows(result.calibration)
    if result.learned:
        rows.append(("learned", f"hyper-parameters of {', '.join(result.learned)}"))
    return rows


def _percent(chance: float) -> str:
    """Return a share of 100 draws: none of them says that something is certain."""
    if chance < 0.01:
        return "less than 1 %"
    return "more than 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"


def _design_rows(result: Any) -> list[tuple[str, str]]:
    """Return the recommended point: interventions, then decisions, then unknowns."""
    problem: Problem = result.problem
    rows = []
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
    return rows


def _calibration_rows(calibration: Sequence[Any]) -> list[tuple[str, str]]:
    """How far the bands were right, in a line; and what was concluded about noise left out."""
    rows = []
    answers = sum(row.answers for row in calibration)
    if answers:
        weight = sum(row.weight for row in calibration)
        inside = sum(row.inside for row in calibration)
        text = f"{inside} of {answers} answers were inside"
        text += f", as good a test as {weight:.2g} far from others"
        wide = [f"{row.box} {row.reach:.2g}" for row in calibration if np.isfinite(row.reach)]
        if wide:
            text += f"; deviations behind the bound: {', '.join(wide)}"
        text = "; ".join([text, *(row.complaint for row in calibration if row.complaint)])
        rows.append(("bands", text))
    concluded = [f"{row.box} {text}" for row in calibration for text in row.conclusions]
    return rows + [("concluded", text) for text in concluded]
