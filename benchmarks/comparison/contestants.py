"""Who takes part: strategies by the names that tables show."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.comparison.start import SameStart
from grisaille.solvers.multistart import MultiStart
from grisaille.strategies.causal.cbo import CBO, ConstrainedCBO
from grisaille.strategies.causal.mcbo import MCBO
from grisaille.strategies.config import CONFIG
from grisaille.strategies.expected_improvement import EICF, EIFN
from grisaille.strategies.log_ei import LogEI
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.quantile_bound import CUQB
from grisaille.strategies.random_search import RandomSearch, SobolSearch
from grisaille.strategies.strategy import Strategy

Factory = Callable[[int], Strategy]
"""Makes a strategy, given how many points of the initial design it tries first."""

DEFAULT = "Optimistic"
"""The library's own default, which all others are compared with."""

YARDSTICK = "LogEI"
"""Plain black-box optimization, which evaluations saved are counted against."""


def contestants() -> dict[str, Factory]:
    """Every strategy with the defaults of its publication, by name, in the order of legends.

    `Optimistic` and `CONFIG` search without proving: what is measured is the choice of points.
    `CBO` starts from observational data, so that an initial design would only take from it.
    """
    search = MultiStart()
    return {
        "Optimistic": lambda n: SameStart(Optimistic(initial=n, solver=search), n),
        "EIFN": lambda n: SameStart(EIFN(initial=n), n),
        "EICF": lambda n: SameStart(EICF(initial=n), n),
        "CUQB": lambda n: SameStart(CUQB(initial=n), n),
        "CONFIG": lambda n: SameStart(CONFIG(initial=n, solver=search), n),
        "LogEI": lambda n: SameStart(LogEI(initial=n), n),
        "MCBO": lambda n: SameStart(MCBO(), n),
        "CBO": lambda _n: CBO(),
        "ConstrainedCBO": lambda _n: ConstrainedCBO(),
        "RandomSearch": lambda n: SameStart(RandomSearch(), n),
        "SobolSearch": lambda n: SameStart(SobolSearch(), n),
    }
