"""The only place where benchmarks use parts of a study that are not public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grisaille as gs
from grisaille.records import Situation
from grisaille.storage.log import Event
from grisaille.study.budget import Limits
from grisaille.study.state import Ledger


def situation_of(study: gs.Study) -> Situation:
    """What the study's strategy would decide from now."""
    return study.desk.standing().situation


def events_of(study: gs.Study) -> list[Event]:
    """Every event that was recorded."""
    return study.desk._log.read(0)


def ledger_of(study: gs.Study) -> Ledger:
    """The study's trials and queries."""
    return study.desk.ledger()


def evaluate(study: gs.Study, query: gs.Query) -> Any:
    """The value of a query's black box at its arguments."""
    box = study.desk.boxes[query.box]
    assert box.fn is not None
    return box.fn(*query.arguments)


def take_query(study: gs.Study) -> gs.Query | None:
    """Take an open query of the study; None if it has none."""
    return study.desk.take()


def start_trial(study: gs.Study) -> None:
    """Let the strategy suggest a point, and record the suggestion."""
    decision = study.desk.decide(Limits())
    assert decision.suggestion is not None
    study.desk.start(decision.suggestion)


def announce_writes(study: gs.Study, announce: Callable[[str], None]) -> None:
    """Call `announce` with "writing" before the study writes, and with "wrote" after."""
    write = study.desk.write

    def announced(record):  # type: ignore[no-untyped-def]
        announce("writing")
        value = write(record)
        announce("wrote")
        return value

    study.desk.write = announced  # type: ignore[method-assign]
