"""What a black box returned, as the numbers it was declared to return."""

from __future__ import annotations

from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import attribute_of, real_numbers
from grisaille.errors import EvaluationError, ModelError, counted, shortened
from grisaille.language.columns import check_distinct, check_order, entry_names, named_values
from grisaille.language.expression import Unit
from grisaille.language.quantities import entry_units, plain_numbers

# A variance is the square of an answer, and no float is above 1.8e308. From answers of 1e155 on, no
# decision could be made (benchmarks/extreme_answers.py); up to 1e150, there is room for factors.
LARGEST_ANSWER = 1e150


class WrongFormError(EvaluationError):
    """An answer that is something else than the declared number of numbers, not a bad number."""


def checked_answer(
    answer: Any, outputs: int, names: tuple[str, ...], where: str, box: str = "", unit: Unit = None
) -> Array:
    """The answer as a flat array of `outputs` finite numbers.

    Args:
        answer: What was returned, or told.
        outputs: How many numbers are wanted.
        names: Their names; empty if they have none.
        where: Which black box at which inputs, for messages.
        box: The name of the black box, after which outputs without names are called.
        unit: The unit of the outputs: quantities are converted to it.

    Raises:
        WrongFormError: The answer is something else.
        EvaluationError: One of the numbers is not finite.
    """
    shown = list(names) or entry_names(box or "the answer", (outputs,) if outputs > 1 else ())
    try:
        named = _by_name(answer, where)
    except ModelError as error:
        raise WrongFormError(str(error)) from None
    has_names = named and (isinstance(answer, dict) or any(isinstance(n, str) for n in named))
    # A tuple has its order, and a dictionary without any name of an output is refused below.
    is_table = not isinstance(answer, dict | tuple)
    if named and has_names and (names or is_table or any(n in named for n in shown)):
        missing = [n for n in shown if n not in named]
        if missing:
            got = ", ".join(map(shortened, named))
            raise WrongFormError(
                f"{where} returned values for {got}, but none for {missing[0]!r}: its "
                f"{'output is' if outputs == 1 else 'outputs are'} {', '.join(map(repr, shown))}"
            )
        answer = [named[n] for n in shown]
    answer = plain_numbers(
        answer, entry_units(unit, outputs), shown, lambda text: WrongFormError(f"{where}: {text}")
    )
    try:
        array = real_numbers(answer)
    except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
        raise WrongFormError(
            f"{where} returned {shortened(answer)}: it must return {counted(outputs, 'number')}"
            + (" (does it lack a return statement?)" if answer is None else "")
        ) from error
    if array.size != outputs:
        raise WrongFormError(
            f"{where} returned {counted(array.size, 'number')} (shape {array.shape}), "
            f"declared with outputs={outputs}: return {counted(outputs, 'number')}, "
            f"or declare outputs={array.size}"
        )
    if not np.isfinite(array).all():
        raise EvaluationError(
            f"{where} returned {shortened(array.ravel().tolist())}: every output must be a finite "
            "number"
        )
    return array.reshape(-1)


def is_too_large(outputs: Array) -> bool:
    """Return whether an answer is too large for anything to be learned from it."""
    return bool((np.abs(outputs) > LARGEST_ANSWER).any())


def check_size(outputs: Array, where: str) -> None:
    """Raise EvaluationError if an answer is too large for anything to be learned from it.

    Args:
        outputs: The outputs, flat.
        where: Which black box at which inputs.
    """
    if is_too_large(outputs):
        raise EvaluationError(
            f"{where} answered {shortened(outputs.tolist())}: beyond ±{LARGEST_ANSWER:g}, nothing "
            "can be learned. If this stands for a failure, raise an exception in the function, or "
            "call study.fail: the place is then avoided. If it was recorded, study.retract takes "
            "it back (study.answers() has its id)"
        )


def _by_name(answer: Any, where: str) -> dict[Any, Any] | None:
    """The values by name of a dictionary, named tuple, record, pandas series or one-row frame."""
    if isinstance(answer, dict):
        return answer
    if isinstance(answer, type):
        return None
    if attribute_of(answer, "_asdict") is not None:
        return dict(answer._asdict())
    fields = attribute_of(attribute_of(answer, "dtype"), "names")
    if fields and np.size(answer) == 1:
        return {field: answer[field] for field in fields}
    if attribute_of(answer, "iloc") is None:
        return None
    if answer.ndim == 2 and len(answer) == 1:
        answer = answer.iloc[0]
    pairs = named_values(answer)
    if pairs is None:
        return None
    names = [name for name, _ in pairs]
    check_order(names, where)
    check_distinct(names, where)
    return dict(pairs)
