"""Both halves of the collection together."""

from __future__ import annotations

import pytest

from benchmarks.collection import development, held_out

pytestmark = pytest.mark.slow


def test_the_halves_share_no_name():
    pytest.importorskip("benchmarks.collection.held_out")
    assert not {e.name for e in development()} & {e.name for e in held_out()}
