"""The strategies that are compared, by the names that tables show."""

from __future__ import annotations

import grisaille as gs
from grisaille.lab.comparison.comparison import SameStart
from grisaille.lab.comparison.plan import StrategyMaker

DEFAULT = "Optimistic"
"""The library's own default, which all others are compared with."""

BASELINE = "LogEI"
"""Plain black-box optimization: the evaluations that the default saves are counted against it."""


def strategies_compared() -> dict[str, StrategyMaker]:
    """Every strategy with the defaults of its publication, by name, in the order of legends.

    `Optimistic` and `CONFIG` search without proving, because the comparison measures the choice of
    points. `CBO` starts from observational data, so an initial design would only cost it trials.
    """
    search = gs.MultiStart()
    return {
        "Optimistic": lambda n: SameStart(gs.Optimistic(initial=n, solver=search), n),
        "EIFN": lambda n: SameStart(gs.EIFN(initial=n), n),
        "EICF": lambda n: SameStart(gs.EICF(initial=n), n),
        "CUQB": lambda n: SameStart(gs.CUQB(initial=n), n),
        "CONFIG": lambda n: SameStart(gs.CONFIG(initial=n, solver=search), n),
        "LogEI": lambda n: SameStart(gs.LogEI(initial=n), n),
        "MCBO": lambda n: SameStart(gs.MCBO(), n),
        "CBO": lambda _n: gs.CBO(),
        "ConstrainedCBO": lambda _n: gs.ConstrainedCBO(),
        "RandomSearch": lambda n: SameStart(gs.RandomSearch(), n),
        "SobolSearch": lambda n: SameStart(gs.SobolSearch(), n),
    }
