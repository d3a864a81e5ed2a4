"""A study in an Optuna storage, for optuna-dashboard and Optuna's own samplers."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from grisaille.adapters.export import settings_of
from grisaille.errors import ModelError, ProtocolError, StorageError, shortened
from grisaille.language.values import Value
from grisaille.study.events import number_to_plain
from grisaille.study.identity import StoredEntry, stored_entries
from grisaille.study.log.address import masked, masked_in
from grisaille.study.state import StudyState, TrialEntry

_OURS = "grisaille study"
"""User attribute of an exported Optuna study: the name of the study it shows."""

_TRIAL = "trial"
"""User attribute of an exported trial: its number in our study."""

# What Optuna, its samplers and its dashboard read: one number per constraint, met when <= 0.
_CONSTRAINTS = "constraints"


def export_optuna(state: StudyState, name: str, url: str) -> int:
    """Write the trials that have ended into an Optuna study.

    Complete trials are COMPLETE, with their value in the user's sense and their constraints.
    Broken trials, and those that evaluated only probes, are FAIL: samplers ignore them. Pending
    trials come with a later export: exporting again adds what is new, and keeps what Optuna has
    added itself.

    Args:
        state: The study.
        name: What the Optuna study is to be called.
        url: Any address that Optuna takes, such as `sqlite:///optuna.db`.

    Returns:
        How many trials were added.

    Raises:
        ProtocolError: Optuna has a study of this name that shows something else.
        StorageError: Optuna cannot use the storage.
    """
    settings = settings_of(state)
    for what, text in (("name", name), ("url", url)):
        if not isinstance(text, str) or not text.strip():
            raise ModelError(f"export_optuna({what}={shortened(text)}): pass a text")
    optuna = _optuna()
    with _quiet(optuna), _storage(optuna, url) as storage:
        shown = _open(optuna, storage, settings, name)
        known = {t.user_attrs[_TRIAL]: t for t in shown.get_trials() if _TRIAL in t.user_attrs}
        ended = [trial for trial in state.trials.values() if trial.ended is not None]
        made = {trial.number: _frozen(optuna, state, trial) for trial in ended}
        _check_known(name, known, made)
        new = [trial for number, trial in made.items() if number not in known]
        for trial in new:
            shown.add_trial(trial)
        return len(new)


def _open(optuna: Any, storage: Any, settings: Any, name: str) -> Any:
    """The Optuna study, created if necessary; raises ProtocolError if it shows something else."""
    direction = "minimize" if settings["sense"] == 1 else "maximize"
    if name in optuna.get_all_study_names(storage):
        shown = optuna.load_study(study_name=name, storage=storage)
        owner = shown.user_attrs.get(_OURS)
        if owner is None:
            raise ProtocolError(
                f"Optuna has a study {name!r} that was not exported from Grisaille: export under "
                "another name, or delete that one"
            )
        if owner != settings["name"] or shown.direction.name.lower() != direction:
            raise ProtocolError(
                f"Optuna's study {name!r} shows the study {owner!r}, to {shown.direction.name}, "
                f"not {settings['name']!r}, to {direction.upper()}: export under another name, or "
                "delete that one"
            )
    else:
        shown = optuna.create_study(study_name=name, storage=storage, direction=direction)
        shown.set_user_attr(_OURS, settings["name"])
    for key in ("strategy", "seed", "evaluation", "constraints"):
        if shown.user_attrs.get(key) != settings[key]:
            shown.set_user_attr(key, settings[key])
    return shown


def _frozen(optuna: Any, state: StudyState, trial: TrialEntry) -> Any:
    """A trial that has ended, as a trial of Optuna."""
    settings, data = state.settings, state.trial_data(trial)
    attributes: dict[str, Any] = {
        _TRIAL: trial.number,
        "state": str(trial.state),
        "kind": data.kind,
    }
    numbers = {
        "bound": data.bound,
        "certified bound": data.certified_bound,
        "violation": data.violation,
    }
    attributes |= {key: number_to_plain(v) for key, v in numbers.items() if v is not None}
    attributes |= {f"evaluations {box}": count for box, count in data.evaluations.items()}
    if trial.failure:
        attributes["reason"] = trial.failure
    point = data.x or {}
    ranges = _distributions(optuna, settings)
    if any(not _fits(ranges[entry], value) for entry, value in point.items()):
        point = {}  # chosen when the problem had other bounds or steps: Optuna cannot show it
    constraints = list(data.constraints or [])
    if trial.record is not None:  # Optuna knows no tolerance
        met = trial.record.violations <= 0
        constraints = [
            min(body, 0.0) if is_met else body
            for body, is_met in zip(constraints, met, strict=True)
        ]
    # Optuna accepts no NaN, neither as a value nor as a constraint.
    complete = (
        bool(point)
        and data.objective is not None
        and not any(math.isnan(value) for value in (data.objective, *constraints))
    )
    made = optuna.trial.create_trial(
        state=optuna.trial.TrialState.COMPLETE if complete else optuna.trial.TrialState.FAIL,
        value=data.objective if complete else None,
        params=point,
        distributions={entry: ranges[entry] for entry in point},
        user_attrs=attributes,
        system_attrs={_CONSTRAINTS: constraints} if complete and constraints else {},
    )
    # Optuna's times are local and without a zone.
    made.datetime_start = datetime.datetime.fromtimestamp(trial.started)
    made.datetime_complete = datetime.datetime.fromtimestamp(trial.ended or trial.started)
    return made


def _distributions(optuna: Any, settings: Any) -> dict[str, Any]:
    """Return what Optuna is to know of each entry of a design point."""
    known = optuna.distributions

    def numbers(entry: StoredEntry) -> Any:
        # Optuna knows no steps of a logarithm: such an entry has no steps there.
        if entry.is_log or not entry.step:
            options = {"log": True} if entry.is_log else {}
            return known.FloatDistribution(entry.lower, entry.upper, **options)
        # Optuna wants the last step as upper bound, in decimal numbers.
        count = math.floor((entry.upper - entry.lower) / entry.step + 1e-9)
        last = float(Decimal(str(entry.lower)) + count * Decimal(str(entry.step)))
        return known.FloatDistribution(entry.lower, last, step=entry.step)

    return {
        entry.name: entry.fold(known.CategoricalDistribution, known.IntDistribution, numbers)
        for entry in stored_entries(settings)
    }


def _fits(distribution: Any, value: Value) -> bool:
    """Whether Optuna takes a value for one of a distribution."""
    if isinstance(value, str) or not hasattr(distribution, "low"):
        return value in getattr(distribution, "choices", ())
    if not distribution.low <= value <= distribution.high:
        return False
    steps = float((value - distribution.low) / (distribution.step or math.inf))
    return abs(steps - round(steps)) < 1e-8


def _check_known(name: str, known: dict[int, Any], made: dict[int, Any]) -> None:
    """Raise ProtocolError if a trial has changed: Optuna cannot change one that has ended."""
    for number, old in known.items():
        new = made.get(number)
        if new is None or any(
            getattr(old, part) != getattr(new, part) for part in ("state", "params", "values")
        ):
            raise ProtocolError(
                f"Optuna's study {name!r} shows another trial {number} than the study has now, "
                "because the problem was changed or the study is another: export under another "
                "name, or delete that one"
            )


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ModelError(
            "exporting to Optuna needs the package optuna: pip install 'grisaille[optuna]'"
        ) from error
    return optuna


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Without Optuna's notes about new studies and features that may change."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


@contextmanager
def _storage(optuna: Any, url: str) -> Iterator[Any]:
    """Optuna's storage at an address, closed at the end."""
    from sqlalchemy.exc import SQLAlchemyError

    broken = (SQLAlchemyError, ImportError, ValueError, optuna.exceptions.StorageInternalError)
    try:
        storage = optuna.storages.get_storage(url)
    except broken as error:
        raise StorageError(_complaint("open", url, error)) from None
    try:
        yield storage
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
        raise StorageError(_complaint("write to", url, error)) from None
    finally:
        storage.remove_session()


def _complaint(what: str, url: str, error: Exception) -> str:
    """A sentence about an error, without the passwords of the address."""
    hint = "" if "://" in url else " (write it as in sqlite:///optuna.db)"
    return f"Optuna cannot {what} {masked(url)}{hint}: {masked_in(str(error), url)}"
