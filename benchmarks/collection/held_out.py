"""The held-out half: no choice may depend on these problems."""

from __future__ import annotations

from benchmarks.collection import (
    held_out_classics,
    held_out_design,
    held_out_hock_schittkowski,
    held_out_infeasible,
    held_out_networks,
    held_out_plants,
    held_out_process,
    held_out_random,
)
from benchmarks.collection.entry import entries_in

ENTRIES = entries_in(
    held_out_classics,
    held_out_hock_schittkowski,
    held_out_design,
    held_out_process,
    held_out_networks,
    held_out_plants,
    held_out_random,
    held_out_infeasible,
)
