"""Checks of arguments: one function per kind of argument, and what counts as a number.

Python's and NumPy's numbers count; booleans, text, dates and masked entries do not. The functions
that are called `check_...` raise ModelError with the user's own value.
"""

from __future__ import annotations

import inspect
import math
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grisaille.errors import ModelError, shortened

_NOT_NUMBERS = (str, bytes, bytearray, complex, np.complexfloating, np.datetime64, np.timedelta64)
_PLAIN = {int, float, np.float64}
_LARGEST = sys.float_info.max
# Larger counts fit neither into a tensor nor into a loop that ends.
_LARGEST_COUNT = 2**63 - 1
_LONGEST_NAME = 255
# Control characters garble every table, and halves of characters cannot be stored.
_NOT_IN_NAMES = ("Cc", "Cs")


def is_number(value: Any) -> bool:
    """Whether a value is one real number that a float can be: NaN and infinities, too."""
    if isinstance(value, float | np.floating):
        return True
    return is_whole(value) and -_LARGEST <= int(value) <= _LARGEST


def is_whole(value: object) -> bool:
    """Whether a value is one whole number."""
    # NumPy counts time differences among the integers.
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def is_finite(value: Any) -> bool:
    """Whether a value is one real number, not infinite and not NaN."""
    return is_number(value) and math.isfinite(value)


def is_count(value: Any, least: int = 1) -> bool:
    """Whether a value is a whole number of at least `least`, and not beyond all use."""
    return is_whole(value) and least <= int(value) <= _LARGEST_COUNT


def is_flag(value: object) -> bool:
    """Whether a value is True or False, Python's or NumPy's."""
    return isinstance(value, bool | np.bool_)


def is_one_of(value: object, words: Collection[str]) -> bool:
    """Whether a value is one of some words; arrays and the like compare in other ways."""
    return isinstance(value, str) and value in words


def attribute_of(value: object, name: str) -> Any:
    """An attribute of anything; None if it has none, or raises when it is asked."""
    try:
        return getattr(value, name, None)
    except Exception:  # a class of the user's own
        return None


def has_method(value: object, name: str) -> bool:
    """Whether a value is an object, not a class, with a method."""
    return not isinstance(value, type) and callable(attribute_of(value, name))


def check_strategy(what: str, value: object) -> None:
    """Raise ModelError unless a value has all methods of a strategy.

    Args:
        what: The value, as a message shows it.
        value: The value.
    """
    methods = ("check", "suggest", "bound", "incumbent", "learned")
    missing = [name for name in methods if not has_method(value, name)]
    if missing:
        lacks = (
            f" It has no method {missing[0]!r}: make its class a subclass of gs.Strategy."
            if len(missing) < len(methods)
            else " gs.Acquisition(function) makes a strategy of an acquisition function."
            if inspect.isfunction(value)
            else ""
        )
        raise ModelError(f"{what}: pass a strategy object such as gs.Optimistic().{lacks}")


def takes(function: Any, arguments: int) -> bool:
    """Whether a function can be called with so many arguments; True if that is not known."""
    try:
        inspect.signature(function).bind(*range(arguments))
    except TypeError:
        return False
    except Exception:  # built-in functions may hide their signature
        return True
    return True


def check_solver(
    who: str, name: str, value: object, wanted: str, *, optional: bool = False
) -> None:
    """Raise ModelError unless a value can solve a search problem; `wanted` says what to pass."""
    if optional and value is None:
        return
    # Problems and tensors have a `solve`, too, but not one of (problem, hints, seed).
    if not has_method(value, "solve") or not takes(attribute_of(value, "solve"), 3):
        raise ModelError(
            f"{argument(who, name, value)}: pass {wanted}" + (", or None" if optional else "")
        )


def check_amounts(who: str, name: str, value: Any, *, above_zero: bool = False) -> None:
    """Raise ModelError unless a value is None, or one or several finite amounts."""
    if value is None:
        return
    try:
        amounts = real_numbers(value)
    except (TypeError, ValueError):
        amounts = np.zeros(0)
    fits = amounts.ndim <= 1 and amounts.size > 0 and np.isfinite(amounts).all()
    if not fits or (amounts < 0).any() or (above_zero and not amounts.all()):
        least = "above 0" if above_zero else "of at least 0"
        raise ModelError(
            f"{argument(who, name, value)}: pass a finite number {least}, or one per output"
        )


def argument(who: str, name: str, value: object) -> str:
    """An argument for messages: `Grid(points=0)`, or `trials=0` where `who` is empty."""
    return f"{who}({name}={shortened(value)})" if who else f"{name}={shortened(value)}"


def check_count(
    who: str, name: str, value: object, least: int = 1, *, optional: bool = False
) -> None:
    """Raise ModelError unless a value is a whole number of at least `least`; None may be fine."""
    if not (optional and value is None) and not is_count(value, least):
        raise ModelError(
            f"{argument(who, name, value)}: pass a whole number of at least {least}"
            + (", or None" if optional else "")
        )


def check_seed(who: str, name: str, value: Any, *, optional: bool = False) -> None:
    """Raise ModelError unless a value is a whole number of at least 0, of any size."""
    if not (optional and value is None) and not (is_whole(value) and value >= 0):
        raise ModelError(
            f"{argument(who, name, value)}: a seed is a whole number of at least 0"
            + (", or None" if optional else "")
        )


def check_amount(
    who: str, name: str, value: Any, *, above_zero: bool = False, optional: bool = False
) -> None:
    """Raise ModelError unless a value is a finite number of at least 0, or above it."""
    if optional and value is None:
        return
    if not is_finite(value) or value < 0 or (above_zero and value == 0):
        raise ModelError(
            f"{argument(who, name, value)}: pass a finite number "
            + ("above 0" if above_zero else "of at least 0")
            + (", or None" if optional else "")
        )


def check_confidence(who: str, value: Any, *, optional: bool = False) -> None:
    """Raise ModelError unless a value is a number between 0 and 1."""
    if optional and value is None:
        return
    if not (is_finite(value) and 0 < value < 1):
        percent = is_finite(value) and 1 < value < 100
        hint = f"{float(value) / 100:g}" if percent else "0.95"
        raise ModelError(
            f"{who}(confidence={shortened(value)}): pass a number between 0 and 1, such as {hint}"
        )


def check_flag(who: str, name: str, value: object, *, optional: bool = False) -> None:
    """Raise ModelError unless a value is True or False; None may be fine."""
    if not (optional and value is None) and not is_flag(value):
        raise ModelError(
            f"{argument(who, name, value)}: pass "
            f"True{', False or None' if optional else ' or False'}"
        )


def check_choice(who: str, name: str, value: object, words: Collection[str]) -> None:
    """Raise ModelError unless a value is one of some words."""
    if not is_one_of(value, words):
        *others, last = map(repr, words)
        raise ModelError(f"{argument(who, name, value)}: use {', '.join(others)} or {last}")


def check_function(who: str, name: str, value: object, wanted: str) -> None:
    """Raise ModelError unless a value is None or can be called; `wanted` says what to pass."""
    if value is not None and not callable(value):
        raise ModelError(f"{argument(who, name, value)}: pass {wanted}")


def is_printable(text: str) -> bool:
    """Whether a text has no character that would garble a table or cannot be stored."""
    return not any(unicodedata.category(character) in _NOT_IN_NAMES for character in text)


def check_name(what: str, value: object, example: str = "pass a text") -> None:
    """Raise ModelError unless a value is a text that can be printed and stored as a name."""
    if not isinstance(value, str) or not value.strip():
        raise ModelError(f"{what} needs a name, got {shortened(value)}: {example}")
    if len(value) > _LONGEST_NAME:
        raise ModelError(
            f"{what} is named {value[:20]!r}..., of {len(value)} characters: a name has at most "
            f"{_LONGEST_NAME}"
        )
    if not is_printable(value):
        raise ModelError(
            f"{what} is named {shortened(value)}: a name has no control characters, such as ends "
            "of lines"
        )


def tuple_of(name: str, value: Iterable[Any]) -> tuple[Any, ...]:
    """The members of a collection; ModelError if it is a text, a dictionary, or unreadable."""
    try:
        if isinstance(value, str | bytes | bytearray | Mapping):
            raise TypeError("no collection")
        return tuple(value)
    except Exception as error:
        raise ModelError(
            f"{name} is {shortened(value)}, which cannot be read: pass a list"
        ) from error


def real_numbers(value: Any, *, truth_values: bool = False) -> NDArray[np.float64]:
    """A new array of floats.

    Args:
        value: A number, or an array or nested lists of numbers; None among others becomes NaN.
        truth_values: Whether True and False count as 1 and 0, as in NumPy's arithmetic.

    Raises:
        TypeError: `value` is None, or holds text (even "3"), complex numbers, times or masked
            entries; or it cannot be read at all.
        ValueError: NumPy cannot make an array of it.
    """
    try:
        return _real_numbers(value, truth_values)
    except (TypeError, ValueError):  # a ModelError, too: expressions say what to do instead
        raise
    except Exception as error:  # a class of the user's own, or lists without end
        raise TypeError(_complaint(value)) from error


def _real_numbers(value: Any, truth_values: bool) -> NDArray[np.float64]:
    refused = _NOT_NUMBERS if truth_values else (*_NOT_NUMBERS, bool, np.bool_)
    value = _without_gradients(value)
    # NumPy makes numbers of what is masked or a truth value when it makes an array of a list.
    if value is None or any(_is_refused(leaf, refused) for leaf in _leaves(value)):
        raise TypeError(_complaint(value))
    array = np.asarray(value)
    if array.dtype.kind == "O":
        if any(_is_refused(leaf, refused) for leaf in array.flat):
            raise TypeError(_complaint(value))
    elif array.dtype.kind not in ("biuf" if truth_values else "iuf"):
        raise TypeError(_complaint(value))
    try:
        return array.astype(float)
    except OverflowError as error:
        raise ValueError(f"{shortened(value)} is too large for a float") from error


def _without_gradients(value: Any) -> Any:
    """Return tensors as NumPy reads them: without gradients, in the memory of the processor."""
    if isinstance(value, list | tuple) and not _PLAIN.issuperset(map(type, value)):
        return [_without_gradients(entry) for entry in value]
    if attribute_of(value, "requires_grad") is True or attribute_of(value, "is_cuda") is True:
        return value.detach().cpu()
    return value


def first_strange(value: Any) -> Any:
    """The first entry of what `real_numbers` refuses that is no number, for messages."""
    try:
        entries = np.asarray(value, dtype=object).ravel()
    except Exception:  # a class of the user's own
        return value
    strange = [entry for entry in entries if not is_number(entry)]
    # One text makes texts of all numbers in a column of a CSV file.
    return next((e for e in strange if not _is_numeral(e)), strange[0] if strange else value)


def _is_numeral(value: object) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False


def _leaves(value: Any) -> Iterator[Any]:
    """What nested lists hold, less lists of plain numbers."""
    if isinstance(value, list | tuple):
        if not _PLAIN.issuperset(map(type, value)):  # quick: known functions give thousands
            for entry in value:
                yield from _leaves(entry)
    else:
        yield value


def has_unit(value: Any) -> bool:
    """Return True for a quantity of pint, and for arrays of other packages that carry a unit."""
    if isinstance(value, np.ndarray):  # subclasses of other packages
        return type(value) is not np.ndarray and any(
            attribute_of(value, name) is not None for name in ("unit", "units")
        )
    return (
        has_method(value, "to_base_units")
        or attribute_of(attribute_of(value, "dtype"), "units") is not None
    )


def _is_refused(leaf: Any, refused: tuple[type, ...]) -> bool:
    if has_unit(leaf):  # NumPy would drop it
        return True
    if isinstance(leaf, np.ma.MaskedArray):  # `np.ma.masked` is one, too
        return bool(np.ma.is_masked(leaf))
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind == "b" and bool in refused
    return isinstance(leaf, refused)


def _complaint(value: Any) -> str:
    return f"{shortened(value)} is not made of real numbers"
