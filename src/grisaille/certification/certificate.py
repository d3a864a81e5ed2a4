"""The certificate of infeasibility: why no plausible point meets all constraints (Obs. feas)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.certification.relaxation import PlausibleRelaxation
from grisaille.confidence.plausible_set import Beta, PlausibleSet, plausible_set
from grisaille.language.problem import Problem
from grisaille.records import History
from grisaille.solvers.branch_and_bound import Limits, branch_and_bound
from grisaille.solvers.proof import Boxes, Leaf, ProofStatus

Array = NDArray[np.float64]

_CHUNK = 256
_ATTACKS = 4096


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof that a problem has no feasible point while its confidence bands hold.

    The design space, with the ranges of black-box outputs that something nonlinear reads, is cut
    into boxes. In each of them either no plausible point lies at all, or a weighted sum of the
    constraints is positive all over, so that one of them must be violated.

    Attributes:
        problem: The problem.
        history: What the bands were learned from.
        beta: Their half-width in standard deviations, or the `Theory` that gave it.
        boxes: The boxes, each with the weights of its constraints and what is sure to remain.
    """

    problem: Problem
    history: History
    beta: Beta
    boxes: tuple[Leaf, ...] = field(repr=False)
    _blamed: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def least_violation(self) -> float:
        """Every design point violates some constraint by at least this much, in its units."""
        return min(leaf.margin for leaf in self.boxes)

    @property
    def multipliers(self) -> Array:
        """The weights of the constraints in each box, (boxes, K); 0 where no point is plausible."""
        return np.array([leaf.multipliers.numpy() for leaf in self.boxes])

    def blame(self) -> list[str]:
        """Constraints that cannot be met together, none of which could be left out.

        One constraint alone if one is enough, whichever the proof happened to use.
        """
        if not self._blamed:
            labels = self.problem.constraint_labels
            relaxation = PlausibleRelaxation(self._plausible())
            limit = 4 * len(self.boxes)
            guilty = [k for k in range(len(labels)) if (self.multipliers[:, k] > 0).any()]
            alone = [k for k in range(len(labels)) if _refutes(_Only(relaxation, [k]), limit)]
            if alone:
                guilty = alone[:1]
            for k in list(guilty):
                rest = [other for other in guilty if other != k]
                if rest and _refutes(_Only(relaxation, rest), limit):
                    guilty = rest
            self._blamed.extend(labels[k] for k in guilty)
        return list(self._blamed)

    def verify(self) -> bool:
        """Check the proof again, from the observations on.

        The surrogates are learned anew; the boxes must cut the whole space without a hole; each
        must be refuted with its own weights; and thousands of plausible points, evaluated as any
        search evaluates them, must all violate some constraint by `least_violation`.
        """
        plausible = self._plausible()
        relaxation = PlausibleRelaxation(plausible)
        lower = torch.stack([leaf.lower for leaf in self.boxes])
        upper = torch.stack([leaf.upper for leaf in self.boxes])
        whole = bool(
            (lower.amin(0) <= relaxation.lower).all() and (upper.amax(0) >= relaxation.upper).all()
        )
        return (
            whole
            and _is_partition(lower, upper)
            and self._all_refuted(relaxation, lower, upper)
            and self._withstands_attack(plausible)
        )

    def _plausible(self) -> PlausibleSet:
        if not self.problem.boxes:  # a contradiction between known parts
            return PlausibleSet(self.problem.program, {}, {})
        return plausible_set(self.problem.program, self.history, self.beta)

    def _all_refuted(self, relaxation: PlausibleRelaxation, lower: Tensor, upper: Tensor) -> bool:
        rays = torch.tensor(self.multipliers)
        margins = torch.tensor([leaf.margin for leaf in self.boxes], dtype=torch.float64)
        if (rays < 0).any() or (rays.sum(1) > 1 + 1e-9).any():
            return False
        weights = torch.cat([torch.zeros(len(rays), 1, dtype=rays.dtype), rays], 1)
        with torch.no_grad():
            for start in range(0, len(lower), _CHUNK):
                part = slice(start, start + _CHUNK)
                boxes = relaxation.over(lower[part], upper[part])
                # Each box needs its own weights only: the diagonal.
                excess = boxes.bound(weights[part]).diagonal()
                # Another batch rounds differently, by no more than the slack that was taken off.
                refuted = (excess > 0) & (excess >= margins[part] - 2 * boxes.slack)
                if not (boxes.empty | refuted).all():
                    return False
        return True

    def _withstands_attack(self, plausible: PlausibleSet) -> bool:
        engine = torch.quasirandom.SobolEngine(len(plausible.lower), scramble=True, seed=0)
        unit = engine.draw(_ATTACKS, dtype=torch.float64)
        points = plausible.lower + (plausible.upper - plausible.lower) * unit
        # Half of them at the ends of the bands, where constraints are met first.
        n = self.problem.program.size
        points[::2, n:] = points[::2, n:].sign()
        with torch.no_grad():
            _, constraints = plausible.evaluate(points)
        worst = torch.nan_to_num(constraints, nan=torch.inf).amax(1)
        return bool((worst >= self.least_violation * (1 - 1e-9)).all())

    def __str__(self) -> str:
        return (
            f"no feasible point: {len(self.boxes)} boxes, each with a constraint violated by at "
            f"least {self.least_violation:.3g}; to blame: {'; '.join(self.blame())}"
        )


class _Only:
    """A relaxation with some of its constraints."""

    def __init__(self, relaxation: PlausibleRelaxation, subset: Sequence[int]) -> None:
        self._relaxation = relaxation
        self._rows = [0, *(1 + k for k in subset)]
        self.lower, self.upper = relaxation.lower, relaxation.upper
        self.constraints = len(subset)
        self.groups = relaxation.groups

    def over(self, lower: Tensor, upper: Tensor) -> Boxes:
        """Look at boxes, (boxes, D) twice."""
        return _OnlyBoxes(self._relaxation, self._rows, lower, upper)

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Points to search from."""
        return self._relaxation.starts(lower, upper)


class _OnlyBoxes:
    def __init__(
        self, relaxation: PlausibleRelaxation, rows: list[int], lower: Tensor, upper: Tensor
    ) -> None:
        self._boxes = relaxation.over(lower, upper)
        self._all = 1 + relaxation.constraints
        self._rows = rows
        self.lower, self.upper, self.empty = self._boxes.lower, self._boxes.upper, self._boxes.empty
        self.looser = self._boxes.looser
        self.slack = 0.0

    def _weights(self, weights: Tensor) -> Tensor:
        return torch.zeros(len(weights), self._all, dtype=weights.dtype).index_copy(
            1, torch.tensor(self._rows), weights
        )

    def bound(self, weights: Tensor) -> Tensor:
        return self._boxes.bound(self._weights(weights))

    def dual(self, weights: Tensor) -> Tensor:
        return self._boxes.dual(self._weights(weights))


def _refutes(relaxation: _Only, boxes: int) -> bool:
    limits = Limits(0.0, 0.0, max(boxes, 200), None, 32)
    scale = torch.ones(1 + relaxation.constraints, dtype=torch.float64)
    with torch.no_grad():
        proof = branch_and_bound(
            relaxation, scale, torch.inf, limits, lambda _lower, _upper: torch.inf
        )
    return proof.status is ProofStatus.INFEASIBLE


def _is_partition(lower: Tensor, upper: Tensor) -> bool:
    """Whether boxes fill the box around them without a hole, by cutting it where none is cut."""
    stack = [(lower.numpy(), upper.numpy(), lower.amin(0).numpy(), upper.amax(0).numpy())]
    while stack:
        low, high, start, end = stack.pop()
        if len(low) == 1:
            if not (low[0] <= start).all() or not (high[0] >= end).all():
                return False
            continue
        cut = _clean_cut(low, high, start, end)
        if cut is None:
            return False
        axis, place = cut
        left = high[:, axis] <= place
        middle_end, middle_start = end.copy(), start.copy()
        middle_end[axis] = middle_start[axis] = place
        stack.append((low[left], high[left], start, middle_end))
        stack.append((low[~left], high[~left], middle_start, end))
    return True


def _clean_cut(low: Array, high: Array, start: Array, end: Array) -> tuple[int, float] | None:
    """A plane that cuts the region, but none of its boxes."""
    for axis in range(low.shape[1]):
        for place in np.unique(high[:, axis]):
            if not start[axis] < place < end[axis]:
                continue
            inside = (low[:, axis] < place) & (high[:, axis] > place)
            if not inside.any():
                return axis, float(place)
    return None
