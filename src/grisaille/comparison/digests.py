"""Whether problems and strategies are those of an earlier comparison, by short digests.

A user changes an own strategy and compares again: runs of the former one must not be mixed in.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from grisaille.language.fingerprint import fingerprint
from grisaille.language.problem import Problem

_DIGITS = 12


def problem_digest(problem: Problem) -> str:
    """A digest of a problem, and of the code of its black boxes as far as that is a user's own."""
    code = (text for box in problem.boxes for text in _sources(box.fn))
    return _digest([*fingerprint(problem), *code])


def code_digest(strategy: object) -> str:
    """A digest of the code of a user's own strategy, and of own functions among its options.

    Empty for the library's own, whose version counts. Code that is called from there and lies
    elsewhere is not read.
    """
    texts = list(_sources(strategy))
    return _digest(texts) if texts else ""


def _sources(thing: Any) -> Iterator[str]:
    """The source texts of a user's own functions and classes in an object."""
    if isinstance(thing, partial):
        yield from _sources(thing.func)
    elif inspect.isroutine(thing):
        yield from _source(thing)
    elif hasattr(thing, "suggest") or callable(thing):
        yield from _source(type(thing))
        names = [f.name for f in fields(thing)] if is_dataclass(thing) else list(_dict(thing))
        for name in names:
            yield from _sources(getattr(thing, name))


def _source(thing: Any) -> list[str]:
    module = getattr(thing, "__module__", None) or ""
    if module.split(".")[0] in ("grisaille", "builtins", "numpy", "torch"):
        return []
    try:
        return [inspect.getsource(thing)]
    except (OSError, TypeError):  # typed into a console, or compiled
        return []


def _dict(thing: object) -> dict[str, Any]:
    return getattr(thing, "__dict__", {})


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:_DIGITS]
