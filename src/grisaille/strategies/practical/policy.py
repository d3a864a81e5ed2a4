"""What the default adds to the paper's algorithm: small steps, in this order.

Each step takes a plan and what is known, and returns a plan. A step that does not apply returns the
plan it was given.
"""

from __future__ import annotations

from collections.abc import Callable

from grisaille.confidence.knowledge import Knowledge
from grisaille.strategies.plan import Plan
from grisaille.strategies.practical.band_widening import widen_bands
from grisaille.strategies.practical.costs import leave_out_expensive, stay_within_budget
from grisaille.strategies.practical.failure_avoidance import avoid_failures
from grisaille.strategies.practical.recommendation import recommend
from grisaille.strategies.practical.refinement import refine
from grisaille.strategies.practical.repetition import go_elsewhere

Step = Callable[[Plan, Knowledge], Plan]

WHERE_TO_GO: tuple[Step, ...] = (recommend, widen_bands, refine, avoid_failures)
"""Steps that choose the point; before the optimistic states are known (Alg. 1 line 4)."""

WHAT_TO_EVALUATE: tuple[Step, ...] = (go_elsewhere, leave_out_expensive, stay_within_budget)
"""Steps that choose the evaluations, once the optimistic states are known."""

EXPLOITING: frozenset[Step] = frozenset({recommend, go_elsewhere})
"""Steps that only `Optimistic(exploit=True)` takes: they leave the algorithm's own points."""
