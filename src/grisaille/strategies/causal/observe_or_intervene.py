"""Whether to watch a system as it is, or to intervene in it.

The rule of "Causal Bayesian optimization" (Aglietti, Lu, Paleyes and Gonzalez 2020).
"""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array

# A convex hull of n points has up to n^(d/2) facets. With more variables, a box takes its place.
_MOST_HULL_VARIABLES = 6


def coverage(rows: Array, lower: Array, upper: Array) -> float:
    """Volume of the convex hull of what was watched, relative to the interventions' domain.

    Vol(C(D)) / Vol(D(X)), at most 1; 0 when the rows lie in a plane.

    Args:
        rows: (N, d), the variables that can be set, as watched.
        lower: (d,), the domain's lower end.
        upper: (d,), its upper end.
    """
    scaled = (rows - lower) / (upper - lower)
    count, d = scaled.shape
    if count <= d or not d:
        return 0.0
    if d == 1 or d > _MOST_HULL_VARIABLES:
        return float(min(1.0, np.ptp(scaled, 0).prod()))
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(min(1.0, ConvexHull(scaled).volume))
    except QhullError:
        return 0.0


def chance_of_watching(covered: float, rows: int, most_rows: int) -> float:
    """The probability of watching: epsilon = coverage * N_max / N, and 0 from N_max rows on.

    When few rows cover much of the domain, more of them will tell the effects of interventions;
    when they cover little, only interventions will. The publication prints N / N_max; its program
    divides by that, so that watching becomes rarer with every row, and so does this.

    Args:
        covered: What `coverage` says.
        rows: N, how many rows were watched.
        most_rows: N_max, how many are wanted at most.
    """
    if rows >= most_rows:
        return 0.0
    if not rows:
        return 1.0
    return min(1.0, covered * most_rows / rows)
