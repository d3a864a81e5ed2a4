"""Values that are typed as JSON: answers, inputs, points."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from grisaille.errors import ModelError, shortened, text_of

if TYPE_CHECKING:
    import argparse


def parse(text: str, what: str) -> Any:
    """The value that a text is; `what` says in messages what it was typed for."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f'{what} is not JSON ({text_of(error)}): write a number, [1, 2] or {{"name": 1}}'
        ) from error
    if _has_truth_value(found):
        raise ModelError(f"{what} has true or false in it: write numbers")
    return found


def typed_inputs(options: argparse.Namespace) -> Any:
    """What a black box was really evaluated at, as typed after `--inputs`; None if it was not."""
    if options.inputs is None:
        return None
    what = f"--inputs {shortened(options.inputs.strip())}"
    found = parse(options.inputs, what)
    if found is None:
        raise ModelError(f"{what} says nothing: leave it out, or write what was set")
    return found


def allow_negative_values(command: argparse.ArgumentParser) -> None:
    """Let a command take -1e-3 for a value: before 3.13 Python takes it for an option."""
    command._negative_number_matcher = re.compile(r"-\.?\d")


def _has_truth_value(found: Any) -> bool:
    if isinstance(found, dict | list):
        return any(map(_has_truth_value, found.values() if isinstance(found, dict) else found))
    return isinstance(found, bool)
