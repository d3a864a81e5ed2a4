"""The development half: problems that methods may be chosen by."""

from __future__ import annotations

from benchmarks.collection import (
    development_classics,
    development_engineering,
    development_hock_schittkowski,
    development_infeasible,
    development_networks,
    development_random,
)
from benchmarks.collection.entry import entries_in

ENTRIES = entries_in(
    development_classics,
    development_hock_schittkowski,
    development_engineering,
    development_networks,
    development_random,
    development_infeasible,
)
