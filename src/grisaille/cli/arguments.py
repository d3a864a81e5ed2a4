"""Arguments that commands share."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

# That of `grisaille.study.study`, which loads PyTorch.
DEFAULT_STORAGE = "sqlite:///study.db"

LIMITS = ("trials", "max_cost", "gap_tol")
"""The limits that are stored with a study, so that other commands know them."""


def count(text: str) -> int:
    """A whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: pass a whole number of at least 1")
    return number


def amount(text: str) -> float:
    """A finite number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"{text!r}: pass a finite number of at least 0")
    return number


def add_storage(command: argparse.ArgumentParser) -> None:
    """Where studies are stored."""
    command.add_argument(
        "--storage",
        metavar="URL",
        default=DEFAULT_STORAGE,
        help="the database with the studies, such as postgresql+psycopg://user@host/database; "
        "default: %(default)s",
    )


def add_study(command: argparse.ArgumentParser) -> None:
    """An existing study."""
    command.add_argument("study", metavar="STUDY", help="name of the study")
    add_storage(command)


def add_study_with_file(command: argparse.ArgumentParser) -> None:
    """An existing study, and the file with its problem."""
    add_study(command)
    command.add_argument(
        "--file",
        type=Path,
        help="the Python file that defines its problem; default: the one it was made from",
    )


def add_problem(command: argparse.ArgumentParser) -> None:
    """A file with a problem."""
    command.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a Python file that defines `problem`, and `strategy` if it is to have its own",
    )


def add_limits(command: argparse.ArgumentParser, trials: str) -> None:
    """When to stop.

    Args:
        command: The command.
        trials: What holds when no number of trials is given.
    """
    command.add_argument(
        "--trials", type=count, metavar="N", help=f"trials in all; default: {trials}"
    )
    command.add_argument(
        "--max-cost", type=amount, metavar="C", help="what all evaluations may cost together"
    )
    command.add_argument(
        "--gap-tol", type=amount, metavar="GAP", help="stop when value and bound are this near"
    )


def add_choices(command: argparse.ArgumentParser) -> None:
    """What makes a run repeatable."""
    command.add_argument("--seed", type=int, metavar="N", help="default: 0, or that of the study")
    command.add_argument(
        "--evaluation",
        choices=("separate", "chained"),
        help="default: separate, or that of the study",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Output for programs."""
    command.add_argument("--json", action="store_true", help="print JSON")
