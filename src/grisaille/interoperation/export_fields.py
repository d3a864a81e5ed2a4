"""What exports read in a ledger, in the user's own sense and names."""

from __future__ import annotations

from collections import Counter

from grisaille.errors import ProtocolError
from grisaille.storage.log import Data
from grisaille.study.state import Ledger, QueryState, TrialEntry


def settings_of(ledger: Ledger) -> Data:
    """What the study was created with."""
    if not ledger.settings:
        raise ProtocolError(
            "the study was never created, so there is nothing to export: make it with gs.Study(...)"
        )
    return ledger.settings


def user_value(ledger: Ledger, minimized: float | None) -> float | None:
    """A value of the minimized objective as the user wrote the objective."""
    return None if minimized is None else int(ledger.settings["sense"]) * minimized


def design(ledger: Ledger, trial: TrialEntry) -> dict[str, float] | None:
    """The design point by entry; None if it was chosen when the problem had other variables."""
    names = ledger.settings["entries"]
    x = trial.suggestion.x.tolist()
    return dict(zip(names, x, strict=True)) if len(names) == len(x) else None


def evaluations(ledger: Ledger, trial: TrialEntry) -> dict[str, int]:
    """How often each black box answered for a trial."""
    counts = Counter(query.box for query in trial.told)
    return {name: counts[name] for name in box_names(ledger)}


def box_names(ledger: Ledger) -> list[str]:
    """The black boxes of the problem, then those it had before it was changed."""
    names = [*ledger.settings["boxes"]]
    names += [query.box for query in ledger.queries.values()]
    return list(dict.fromkeys([*names, *(seen.box for seen in ledger.elsewhere())]))


def reason(trial: TrialEntry) -> str:
    """Why evaluations of a trial failed, as far as they did."""
    failed = [query for query in trial.queries if query.state is QueryState.FAILED]
    return "; ".join(f"{query.id}: {query.reason}" for query in failed)
