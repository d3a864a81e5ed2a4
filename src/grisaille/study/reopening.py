"""Letting a trial be pending again: its answers serve other calls, and others are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grisaille.storage.event_log import Kind
from grisaille.study.assignment import Assignment, are_same
from grisaille.study.encoding import to_plain
from grisaille.study.trials_and_queries import TrialEntry

if TYPE_CHECKING:
    from grisaille.study.event_writer import Writer


def reopen(writer: Writer, trial: TrialEntry, found: Assignment, rank: int | None = None) -> None:
    """Write which answers serve a trial now, and ask for what is missing."""
    calls = found.calls()
    missing = dict(found.missing)
    for query in trial.queries:  # what is being evaluated for these inputs goes on
        for call, inputs in list(missing.items()):
            box = writer.problem.program.calls[call].box.name
            if query.is_open and query.box == box and are_same(query.wanted, inputs):
                calls.setdefault(query.id, []).append(call)
                del missing[call]
    event: dict[str, Any] = {
        "trial": trial.number,
        "calls": calls,
        "given": {str(call): to_plain(outputs) for call, outputs in found.given.items()},
        "ready": writer.queries_for(trial, missing, set(calls)),
        "rank": rank,
    }
    writer.append(Kind.REOPENED, event)
