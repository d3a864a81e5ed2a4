"""An entry of the collection: a grey box, its optimum, and what makes it hard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.problem import Problem

Formulation = Callable[[float | None], Problem]
"""Builds a problem whose black boxes are all declared with the noise it is given."""

TAGS = frozenset(
    {
        "badly scaled",
        "calibration",
        "constrained",
        "engineering",
        "infeasible",
        "kinked",
        "multimodal",
        "nearly infeasible",
        "nested",
        "network",
        "process",
        "random",
        "separable",
        "smooth",
        "steep",
    }
)
"""Every tag in use, so that a misspelt one is noticed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A problem of the collection. Its black boxes are deterministic.

    Attributes:
        name: Its name, unique in both halves.
        formulate: Builds the problem for a noise: 0 if the user says that black boxes are
            deterministic, None if the user leaves it out.
        optimum: The optimal objective, in its own sense; NaN if the problem is infeasible.
        x: A flat design point where it is attained; if the problem is infeasible, a point whose
            largest violation is smallest.
        source: Where the problem comes from.
        tags: What makes it hard, from `TAGS`.
    """

    name: str
    formulate: Formulation
    optimum: float
    x: tuple[float, ...]
    source: str
    tags: frozenset[str]

    def __post_init__(self) -> None:
        unknown = self.tags - TAGS
        if unknown:
            raise ValueError(f"entry {self.name!r} has unknown tags {sorted(unknown)}")
        if self.feasible == bool(np.isnan(self.optimum)):
            raise ValueError(f"entry {self.name!r}: infeasible entries have optimum NaN, no others")

    @property
    def feasible(self) -> bool:
        """Whether a feasible point exists."""
        return "infeasible" not in self.tags

    def make(self, noise: float | None = 0) -> KnownProblem:
        """The known problem with black boxes of this noise.

        Its true values are those of the same problem with noise 0.

        Args:
            noise: What every black box is declared with: 0, or None for noise left out.
        """
        exact = self._known(self.formulate(0), None)
        return exact if noise == 0 else self._known(self.formulate(noise), exact)

    def _known(self, problem: Problem, exact: KnownProblem | None) -> KnownProblem:
        return KnownProblem(
            self.name,
            problem,
            optimum=self.optimum,
            x=np.array(self.x),
            source=self.source,
            kind=_structure(problem),
            truth=None if exact is None else exact.measure,
        )


def entry(
    name: str, *tags: str, optimum: float, x: Sequence[float], source: str
) -> Callable[[Formulation], Entry]:
    """Turn a function `noise -> Problem` into an entry: a decorator.

    Args:
        name: Its name.
        tags: Its tags.
        optimum: The optimal objective, in its own sense; NaN if there is no feasible point.
        x: A flat design point where it is attained.
        source: Where the problem comes from.
    """
    point = tuple(map(float, x))
    return lambda formulate: Entry(name, formulate, optimum, point, source, frozenset(tags))


def entries_in(*modules: ModuleType) -> tuple[Entry, ...]:
    """The entries that these modules define, in the order they are written."""
    return tuple(v for m in modules for v in vars(m).values() if isinstance(v, Entry))


def depth(problem: Problem) -> int:
    """How many black boxes lie one after the other at most: 1 if none reads another."""
    depths: list[int] = []
    for call in problem.program.calls:
        depths.append(1 + max((depths[k] for k in call.upstream), default=0))
    return max(depths, default=0)


def _structure(problem: Problem) -> Structure:
    if problem.constraints:
        return Structure.CONSTRAINED
    return Structure.ONE_LAYER if depth(problem) <= 1 else Structure.NESTED
