"""Arguments that commands share."""

from __future__ import annotations

import argparse
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from grisaille.errors import ModelError, shortened

# --- arguments ------------------------------------------------------------------------------------

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

# That of `grisaille.study.study`, which loads PyTorch.
DEFAULT_STORAGE = "sqlite:///study.db"

# That of `grisaille.checks`, which loads NumPy.
_LARGEST_COUNT = 2**63 - 1

_LARGEST_PORT = 65535

_STORAGE_VARIABLE = "GRISAILLE_STORAGE"

LIMITS = ("trials", "max_cost", "gap_tol")
"""The limits that are stored with a study, so that other commands know them."""


def count(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, 1, _LARGEST_COUNT)


def seed(text: str) -> int:
    """A whole number of at least 0."""
    return _whole(text, 0, math.inf)


def _whole(text: str, least: int, most: float) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(
            f"{shortened(text)}: pass a whole number of at least {least}"
        )
    return number


def port(text: str) -> int:
    """The number of a port."""
    number = _whole(text, 1, math.inf)
    if number > _LARGEST_PORT:
        raise argparse.ArgumentTypeError(f"{shortened(text)}: ports end at {_LARGEST_PORT}")
    return number


def amount(text: str) -> float:
    """A finite number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"{shortened(text)}: pass a finite number of at least 0")
    return number


def positive(text: str) -> float:
    """A finite number above 0."""
    number = amount(text)
    if number == 0:
        raise argparse.ArgumentTypeError(f"{shortened(text)}: pass a finite number above 0")
    return number


def default_storage() -> str:
    """The address that the environment names, so that it need not stand in a command."""
    return os.environ.get(_STORAGE_VARIABLE) or DEFAULT_STORAGE


# The help does not show the default: the address in the environment may hold a password.
STORAGE: dict[str, Any] = {
    "metavar": "URL",
    "help": "the database with the studies, such as postgresql+psycopg://user@host/database; "
    f"default: the environment variable {_STORAGE_VARIABLE}, else {DEFAULT_STORAGE}",
}

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "study": {"metavar": "STUDY", "help": "name of the study"},
    "id": {"metavar": "ID", "help": "id of the query"},
    "file": {
        "type": Path,
        "metavar": "FILE",
        "help": "a Python file that defines `problem`, and `strategy` if it is to have its own",
    },
    "--storage": STORAGE,
    "--file": {
        "type": Path,
        "help": "the Python file that defines its problem, which is run; default: the one that you "
        "passed last for this study, on this machine",
    },
    "--max-cost": {
        "type": amount,
        "metavar": "C",
        "help": "what all evaluations may cost together",
    },
    "--gap-tol": {
        "type": amount,
        "metavar": "GAP",
        "help": "stop when value and bound are this near",
    },
    "--seed": {"type": seed, "metavar": "N", "help": "default: 0, or that of the study"},
    "--evaluation": {
        "choices": ("separate", "chained"),
        "help": "default: separate, or that of the study",
    },
    "--json": {"action": "store_true", "help": "print JSON"},
    "--workers": {
        "type": count,
        "metavar": "N",
        "help": "evaluate so many at once, in child processes",
    },
    "--timeout": {"type": amount, "metavar": "SECONDS", "help": "after which no trial starts"},
    "--allow-changes": {
        "action": "store_true",
        "help": "go on although the problem or the strategy has changed: answers are kept, and "
        "what is new is asked at old points",
    },
    "--inputs": {
        "metavar": "JSON",
        "help": "what was really done, if not what was asked for: all input numbers, or by name "
        "those that differ",
    },
    "--plot": {"type": Path, "help": "save a picture of the convergence here"},
    "--quiet": {"action": "store_true", "help": "print the answer only"},
}

STUDY = ("study", "--storage")
STUDY_WITH_FILE = (*STUDY, "--file", "--allow-changes")


def add_shared(command: argparse.ArgumentParser, *names: str) -> None:
    """Add arguments that several commands have, by their names."""
    for name in names:
        command.add_argument(name, **_ARGUMENTS[name])
    if "--storage" in names:
        command.set_defaults(storage=default_storage())


def add_trials(command: argparse.ArgumentParser, default: str) -> None:
    """Add `--trials`; the default is a text for the help."""
    command.add_argument(
        "--trials", type=count, metavar="N", help=f"trials in all; default: {default}"
    )


# --- json values ----------------------------------------------------------------------------------
# Values that are typed as JSON: answers, inputs, points.


def typed_inputs(options: argparse.Namespace) -> Any:
    """What a black box was really evaluated at, as typed after `--inputs`; None if it was not."""
    from grisaille.language.values import parsed

    if options.inputs is None:
        return None
    what = f"--inputs {shortened(options.inputs.strip())}"
    found = parsed(options.inputs, what)
    if found is None:
        raise ModelError(f"{what} says nothing: leave it out, or write what was set")
    return found


def allow_negative_values(command: argparse.ArgumentParser) -> None:
    """Let a command take -1e-3 for a value: before 3.13 Python takes it for an option."""
    command._negative_number_matcher = re.compile(r"-\.?\d")
