"""Values that users pass by mistake, and values that are made to break a check.

Each has a kind, so that a place can say which kinds are right for it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

import botorch  # noqa: F401  # its first import warns, which would look like a call's own error
import numpy as np
import pandas
import torch

import grisaille as gs


@dataclass(frozen=True)
class WrongValue:
    """A value that is wrong at most places.

    Attributes:
        name: What it is called in the table of results.
        kind: What it is; places list the kinds that are right for them.
        make: Makes it anew, because some values are used up.
    """

    name: str
    kind: str
    make: Callable[[], Any]


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("this method always raises")


def _hostile(*methods: str) -> Callable[[], Any]:
    """Makes objects of a class whose methods raise."""
    return type("Hostile", (), dict.fromkeys(methods, _refuse))


def _list_that_holds_itself() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def _deep_list() -> list[Any]:
    deep: list[Any] = [1.0]
    for _ in range(5000):
        deep = [deep]
    return deep


def _masked() -> Any:
    return np.ma.array([1.0, 2.0], mask=[False, True])


def _black_box() -> gs.BlackBox:
    return gs.BlackBox(math.sin, name="other", noise=0)


def _problem() -> gs.Problem:
    return gs.Problem(minimize=_black_box()(gs.Variable("other_x", lower=0, upper=1)))


_TABLE: dict[str, dict[str, Callable[[], Any]]] = {
    "none": {"None": lambda: None},
    "whole": {"3": lambda: 3, "np.int64(2)": lambda: np.int64(2)},
    "one": {"1": lambda: 1},
    "zero": {"0": lambda: 0, "0.0": lambda: 0.0},
    "negative whole": {"-1": lambda: -1},
    "huge whole": {"10**400": lambda: 10**400},
    "negative huge whole": {"-10**400": lambda: -(10**400)},
    "long whole": {"2**70": lambda: 2**70},
    "fraction": {"0.5": lambda: 0.5},
    "above one": {"2.75": lambda: 2.75, "np.float32(1.25)": lambda: np.float32(1.25)},
    "negative": {"-0.5": lambda: -0.5},
    "tiny": {"5e-324": lambda: 5e-324},
    "giant": {"1e308": lambda: 1e308},
    "negative giant": {"-1e308": lambda: -1e308},
    "nan": {"nan": lambda: math.nan, "np.float64(nan)": lambda: np.float64(math.nan)},
    "inf": {"inf": lambda: math.inf},
    "negative inf": {"-inf": lambda: -math.inf},
    "true": {"True": lambda: True},
    "false": {"False": lambda: False},
    "numpy truth": {"np.True_": lambda: np.True_, "np.False_": lambda: np.False_},
    "truth array": {"array of truth": lambda: np.array([True, False])},
    "complex": {"1j": lambda: 1j, "np.complex128": lambda: np.complex128(1 + 2j)},
    "text": {"'abc'": lambda: "abc", "np.str_": lambda: np.str_("abd")},
    "digits": {"'3'": lambda: "3", "'nan'": lambda: "nan"},
    "blank": {"''": lambda: "", "' '": lambda: "  \t"},
    "long text": {"long text": lambda: "x" * 100_000},
    "strange text": {
        "escapes": lambda: "a\x1b[2J\x00\x07b",
        "half a character": lambda: "\ud800",
    },
    "lines": {"lines": lambda: "a\nb\r\nc"},
    "markup": {"markup": lambda: "[/red]<b>{x}%s"},
    "right to left": {"right to left": lambda: "\u202eabc"},
    "bytes": {"b'abc'": lambda: b"abc", "bytearray": lambda: bytearray(b"3")},
    "empty": {"[]": list, "()": lambda: ()},
    "numbers": {"[1, 2, 3]": lambda: [1, 2, 3]},
    "range": {"range(7)": lambda: range(7)},
    "matrix": {"[[1, 2], [3, 4]]": lambda: [[1.0, 2.0], [3.0, 4.0]]},
    "ragged": {"ragged": lambda: [[1.0, 2.0], [3.0]]},
    "mixed": {"[1, 'a']": lambda: [1, "a"], "[[], {}]": lambda: [[], {}]},
    "list of none": {"[None]": lambda: [None]},
    "texts": {"['a', 'b']": lambda: ["a", "b"]},
    "same texts": {"['a', 'a']": lambda: ["a", "a"]},
    "numbers with nan": {"[nan, 1]": lambda: [math.nan, 1.0]},
    "deep list": {"deep list": _deep_list, "list in itself": _list_that_holds_itself},
    "dictionary": {"{}": dict, "{'a': 1}": lambda: {"a": 1}},
    "empty set": {"set()": lambda: set()},
    "set": {"{1, 2}": lambda: {1, 2}},
    "masked": {"np.ma.masked": lambda: np.ma.masked, "masked array": _masked},
    "object array": {"object array": lambda: np.array([None, "x"], dtype=object)},
    "text array": {"text array": lambda: np.array(["1", "2"])},
    "empty array": {"empty array": lambda: np.zeros((0, 3))},
    "cube": {"array (2, 2, 2)": lambda: np.ones((2, 2, 2))},
    "long vector": {"array (1000,)": lambda: np.linspace(1.0, 2.0, 1000)},
    "record array": {"record array": lambda: np.zeros(2, dtype=[("a", float), ("b", "U3")])},
    "date": {
        "date": lambda: datetime.date(2026, 1, 2),
        "datetime": lambda: datetime.datetime(2026, 1, 2, 3),
        "np.datetime64": lambda: np.datetime64("2026-01-02"),
        "Timestamp": lambda: pandas.Timestamp("2026-01-02"),
        "NaT": lambda: pandas.NaT,
    },
    "duration": {
        "timedelta": lambda: datetime.timedelta(seconds=3),
        "np.timedelta64": lambda: np.timedelta64(3, "s"),
    },
    "missing": {"pandas.NA": lambda: pandas.NA},
    "series": {"Series of 2": lambda: pandas.Series([1.0, 2.0])},
    "text series": {"Series of texts": lambda: pandas.Series(["a", "b"])},
    "frame": {"DataFrame": lambda: pandas.DataFrame({"a": [1.0, 2.0], "b": ["c", "d"]})},
    "categories": {"Categorical": lambda: pandas.Categorical(["a", "b"])},
    "complex tensor": {"complex tensor": lambda: torch.tensor([1j, 2j])},
    "decimal nan": {"Decimal('NaN')": lambda: Decimal("sNaN")},
    "function": {"function": lambda: lambda: None},
    "function of many": {"function of 4": lambda: lambda a, b, c, d: a},
    "class": {"class": lambda: dict, "gs.Optimistic": lambda: gs.Optimistic},
    "generator": {"generator": lambda: (i for i in (1, 2))},
    "object": {
        "object()": object,
        "Ellipsis": lambda: ...,
        "NotImplemented": lambda: NotImplemented,
    },
    "module": {"module": lambda: math},
    "slice": {"slice": lambda: slice(0, 2)},
    "exception": {"exception": lambda: ValueError("x")},
    "hostile": {
        "__repr__ raises": _hostile("__repr__"),
        "__str__ and __repr__ raise": _hostile("__str__", "__repr__"),
        "__eq__ raises": _hostile("__eq__"),
        "__bool__ raises": _hostile("__bool__"),
        "__hash__ raises": _hostile("__hash__"),
        "__float__ raises": _hostile("__float__", "__int__", "__index__"),
        "__getattr__ raises": _hostile("__getattr__"),
    },
    "hostile sequence": {
        "__len__ raises": _hostile("__len__", "__getitem__"),
        "__iter__ raises": _hostile("__iter__"),
    },
    "hostile array": {"__array__ raises": _hostile("__array__")},
    "variable": {"variable": lambda: gs.Variable("other_x", lower=0, upper=1)},
    "constraint": {"constraint": lambda: gs.Variable("other_x", lower=0, upper=1) <= 0.5},
    "black box": {"black box": _black_box},
    "problem": {"problem": _problem},
    "strategy": {"strategy": lambda: gs.RandomSearch()},
    "solver": {"solver": lambda: gs.MultiStart()},
    "kernel": {"kernel": lambda: gs.Matern()},
}

VALUES = [WrongValue(n, kind, make) for kind, of in _TABLE.items() for n, make in of.items()]
"""All values, in a fixed order."""

KINDS = frozenset(_TABLE)
