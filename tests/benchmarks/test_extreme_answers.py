"""What counts as raw when any function is called with answers of any size."""

from __future__ import annotations

import warnings

import pytest
from benchmarks.extreme_answers import Calls, Job, measure

import grisaille as gs

pytestmark = pytest.mark.slow


def raise_it(error: Exception):
    raise error


def test_only_errors_with_words_of_the_library_are_sentences():
    calls = Calls()
    assert calls.make("a", lambda: 3) == 3
    assert calls.make("b", lambda: raise_it(gs.ModelError("it is too large"))) is None
    assert calls.make("c", lambda: raise_it(ZeroDivisionError("oh"))) is None
    assert calls.make("d", lambda: raise_it(gs.ModelError(""))) is None
    calls.make("e", lambda: warnings.warn("overflow", RuntimeWarning, stacklevel=1))
    calls.make("f", lambda: warnings.warn("far off", gs.GrisailleWarning, stacklevel=1))
    assert dict(calls.ended) == {"returned": 3, "sentences": 2, "raw": 1}
    assert [text.split(":")[0] for text in calls.raw] == ["c", "d"]
    assert [text.split(":")[0] for text in calls.strange] == ["e"]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [("1e-170", 8), ("penalty of the largest float", 9)])
def test_no_public_call_ends_raw(kind: str, seed: int):
    row = measure(Job(kind, seed))
    assert row["calls"] > 60
    assert (row["raw"], row["says_nan"]) == (0, 0), row["first_raw"]
