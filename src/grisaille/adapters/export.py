"""A study as tables and as JSON.

Every number is written so that reading it gives the same number to the last bit.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import ProtocolError
from grisaille.language.values import Value, readable
from grisaille.records import Observation
from grisaille.study.events import number_to_plain, to_plain, values_to_plain
from grisaille.study.identity import stored_entries
from grisaille.study.log.event_log import Data
from grisaille.study.state import QueryEntry, StudyState, TrialEntry, probe_of
from grisaille.study.trial_tables import distinct_names

FORMAT_VERSION = 1
"""Rises when a key of `export_json` changes its meaning or is removed, not for new keys."""

# A spreadsheet takes a text that begins so for a formula, and runs it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def export_csv(state: StudyState) -> str:
    """One row per trial, pending ones included.

    Columns: trial, state, kind, one per design entry, objective, one per constraint (met when
    <= 0), violation, bound, certified bound, evaluations of each black box, seconds suggesting and
    evaluating, started, ended, reason. Objective and bounds are in the user's sense, times are
    UTC. Unknown cells are empty. A name that is taken gets a number, as in `kind (2)`. Texts that
    a spreadsheet would run as a formula (they begin with =, +, - or @) begin with an apostrophe.
    """
    settings = settings_of(state)
    first = ["trial", "state", "kind"]
    counts = [f"evaluations {name}" for name in state.box_names()]
    last = ["violation", "bound", "certified bound", *counts]
    last += ["seconds suggesting", "seconds evaluating", "started", "ended", "reason"]
    taken = {*first, "objective", *last}
    entries = distinct_names(settings["entries"], taken)
    labels = distinct_names(settings["constraints"], taken)
    header = [*first, *entries, "objective", *labels, *last]
    return _csv(header, [_trial_row(state, trial) for trial in state.trials.values()])


def _trial_row(state: StudyState, trial: TrialEntry) -> list[Any]:
    data = state.trial_data(trial)
    nothing: list[Any] = [None]
    return [
        trial.number,
        str(trial.state),
        data.kind,
        *(nothing * len(state.settings["entries"]) if data.x is None else data.x.values()),
        data.objective,
        *(data.constraints or nothing * len(state.settings["constraints"])),
        data.violation,
        data.bound,
        data.certified_bound,
        *data.evaluations.values(),
        trial.seconds,
        trial.seconds_evaluating,
        _utc(trial.started),
        _utc(trial.ended),
        trial.failure,
    ]


def export_observations_csv(state: StudyState) -> str:
    """One row per answer of a black box.

    Columns: box, source ("chain", "probe" for an answer apart from the real chain, "elsewhere" for
    one that `Study.observe` added), trial, query, input[0], ..., output[0], ..., seconds. A choice
    is one input, its label. A box with fewer inputs or outputs than another leaves the last ones
    empty.
    """
    settings_of(state)
    told = [query for trial in state.trials.values() for query in trial.told]
    elsewhere = state.elsewhere()
    every: list[QueryEntry | Observation] = [*told, *elsewhere]
    inputs = max((len(state.readable_inputs(s.box, s.inputs)) for s in every), default=0)
    outputs = max((_size(seen.outputs) for seen in every), default=0)
    header = ["box", "source", "trial", "query"]
    header += [f"input[{i}]" for i in range(inputs)]
    header += [f"output[{i}]" for i in range(outputs)]

    def row(
        seen: Any, source: str, trial: int | None, query: str, seconds: float | None
    ) -> list[Any]:
        read = state.readable_inputs(seen.box, seen.inputs)
        values = [*_padded(read, inputs), *_padded(seen.outputs.tolist(), outputs)]
        return [seen.box, source, trial, query, *values, seconds]

    rows = [row(query, _source(query), query.trial, query.id, query.seconds) for query in told]
    rows += [row(seen, "elsewhere", None, "", None) for seen in elsewhere]
    return _csv([*header, "seconds"], rows)


def export_json(state: StudyState) -> dict[str, Any]:
    """Everything that is known of a study, as strictly valid JSON.

    Numbers that are not finite are the words "nan", "inf" and "-inf"; what is not known is null;
    times are seconds since 1970; a choice is its label; objective and bounds are in the user's
    sense. The keys are explained in docs/interoperation.md.
    """
    settings = settings_of(state)
    labels = settings.get("labels")
    return {
        "format": "grisaille study",
        "version": FORMAT_VERSION,
        "name": settings["name"],
        "sense": "minimize" if settings["sense"] == 1 else "maximize",
        "strategy": settings["strategy"],
        "seed": settings["seed"],
        "evaluation": settings["evaluation"],
        "variables": [entry.plain for entry in stored_entries(settings)],
        "constraints": list(settings["constraints"]),
        **({"labels": labels} if labels else {}),
        "boxes": [_box_to_plain(name, box) for name, box in settings["boxes"].items()],
        "problem": settings["problem"],
        "trials": [_trial_to_plain(state, trial) for trial in state.trials.values()],
        "observations": [
            {"box": o.box, "inputs": _inputs(state, o), "outputs": to_plain(o.outputs)}
            for o in state.elsewhere()
        ],
    }


def _box_to_plain(name: str, box: Mapping[str, Any]) -> dict[str, Any]:
    named = not isinstance(box["outputs"], int)
    return {
        "name": name,
        "inputs": box["inputs"],
        "outputs": len(box["outputs"]) if named else box["outputs"],
        "output_names": list(box["outputs"]) if named else None,
        "cost": box["cost"],
    }


def _trial_to_plain(state: StudyState, trial: TrialEntry) -> dict[str, Any]:
    data, suggestion = state.trial_data(trial), trial.suggestion
    return {
        "number": trial.number,
        "state": str(trial.state),
        "kind": data.kind,
        "x": values_to_plain(_point(state, suggestion.x)),
        "objective": number_to_plain(data.objective),
        "constraints": None if data.constraints is None else to_plain(data.constraints),
        "violation": number_to_plain(data.violation),
        "bound": number_to_plain(data.bound),
        "certified_bound": number_to_plain(data.certified_bound),
        "evaluations": data.evaluations,
        "seconds_suggesting": trial.seconds,
        "seconds_evaluating": trial.seconds_evaluating,
        "started": trial.started,
        "ended": trial.ended,
        "trials_left": trial.remaining,
        "cost_left": number_to_plain(trial.budget),
        "trials_under_way": suggestion.pending,
        "queries": [_query_to_plain(state, query) for query in trial.queries],
    }


def _point(state: StudyState, x: Array) -> list[Value]:
    """A design point with its labels; as it is, if the problem had other variables then."""
    kinds = [entry.kind for entry in stored_entries(state.settings)]
    return readable(kinds, x) if len(kinds) == len(x) else list(x.tolist())


def _inputs(state: StudyState, seen: QueryEntry | Observation) -> list[Value]:
    return values_to_plain(state.readable_inputs(seen.box, seen.inputs))


def _query_to_plain(state: StudyState, query: QueryEntry) -> dict[str, Any]:
    return {
        "id": query.id,
        "box": query.box,
        "source": _source(query),
        "calls": list(query.calls),
        "state": str(query.state),
        "inputs": _inputs(state, query),
        "outputs": None if query.outputs is None else to_plain(query.outputs),
        "seconds": query.seconds,
        "asked": query.asked or None,
        "failed_attempts": query.attempts,
        "lost_workers": query.losses,
        "reason": query.reason or None,
    }


def settings_of(state: StudyState) -> Data:
    """The settings of a study.

    Raises:
        ProtocolError: There is no study.
    """
    if not state.settings:
        raise ProtocolError(
            "the study was never created, so there is nothing to export: make it with gs.Study(...)"
        )
    return state.settings


def _source(query: QueryEntry) -> str:
    return "chain" if probe_of(query) is None else "probe"


def _utc(time: float | None) -> str | None:
    if time is None:
        return None
    # Microseconds always, else pandas finds two formats in one column.
    moment = datetime.datetime.fromtimestamp(time, datetime.UTC)
    return moment.isoformat(timespec="microseconds")


def _size(outputs: Array | None) -> int:
    return 0 if outputs is None else outputs.size


def _padded(values: list[Any], width: int) -> list[Any]:
    return [*values, *[None] * (width - len(values))]


def _csv(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    # repr of a float is the shortest text that reads back as the same number.
    return repr(float(value)) if isinstance(value, float | np.floating) else value
