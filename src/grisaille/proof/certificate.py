"""The certificate of infeasibility: why no plausible point meets all constraints (Obs. feas)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.rules import Beta, plausible_set, rule_of
from grisaille.language.problem import Problem
from grisaille.markup import labelled
from grisaille.proof.relaxation import PlausibleRelaxation
from grisaille.records import History
from grisaille.search.branch_and_bound import Limits, branch_and_bound
from grisaille.search.search_problem import ProofStatus, RefutedRegion, Regions, rounded


@dataclass(frozen=True, slots=True)
class CertificateConstants:
    """The constants of verifying a certificate.

    Attributes:
        chunk: Regions that are verified at a time. Not measured.
        samples: Sampled points that must not contradict it. Not measured.
    """

    chunk: int = 256
    samples: int = 4096


CERTIFICATES = CertificateConstants()


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof that a problem has no feasible point while its confidence bands hold.

    The design space, extended by the ranges of black-box outputs that enter nonlinearly, is cut
    into regions. Each region either contains no plausible point, or a weighted sum of the
    constraints is positive everywhere in it, so that one of them must be violated.

    Attributes:
        problem: The problem.
        history: The trials that the bands were learned from.
        beta: Their half-width in standard deviations, or the `Theory` that gave it.
        regions: The regions, each with the weights of the constraints and the least violation. They
            are in the logarithm of variables with `log=True`.
    """

    problem: Problem
    history: History
    beta: Beta
    regions: tuple[RefutedRegion, ...] = field(repr=False)
    _blamed: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def confidence(self) -> float | None:
        """The confidence that its bands were made with; None if they hold by declaration."""
        rule = rule_of(self.beta)
        return None if rule._width is None else rule._confidence

    @property
    def least_violation(self) -> float:
        """Every design point violates some constraint by at least this much, in its units."""
        return min((region.margin for region in self.regions), default=0.0)

    @property
    def multipliers(self) -> Array:
        """Weights of the constraints in each region, (regions, K); 0 if no point is plausible."""
        rows = [region.multipliers.numpy() for region in self.regions]
        return np.array(rows).reshape(len(rows), len(self.problem.constraint_names))

    def blame(self) -> list[str]:
        """Constraints that cannot be met together, without any that the proof does not need.

        A single constraint if one is enough, whichever constraints the proof happened to use.
        """
        if not self._blamed:
            labels = self.problem.constraint_names
            relaxation = PlausibleRelaxation(self._plausible())
            limit = 4 * len(self.regions)
            blamed = [k for k in range(len(labels)) if (self.multipliers[:, k] > 0).any()]
            alone = [k for k in range(len(labels)) if _refutes(_Subset(relaxation, [k]), limit)]
            if alone:
                blamed = alone[:1]
            for k in list(blamed):
                rest = [other for other in blamed if other != k]
                if rest and _refutes(_Subset(relaxation, rest), limit):
                    blamed = rest
            self._blamed.extend(labels[k] for k in blamed)
        return list(self._blamed)

    def verify(self) -> bool:
        """Check the proof again, starting from the observations.

        The surrogates are learned again. The regions must fill the search space without a hole, and
        each must be refuted with its own weights. Thousands of plausible points, evaluated as in
        any search, must all violate some constraint by `least_violation`.

        Returns:
            Whether all of that is so. A certificate without regions proves nothing, nor does one
            for bands of negative width.
        """
        if not self.regions:
            return False
        plausible = self._plausible()
        if not all((width >= 0).all() for width in plausible.beta.values()):
            return False  # a negative half-width turns bands inside out
        relaxation = PlausibleRelaxation(plausible)
        lower = torch.stack([region.lower for region in self.regions])
        upper = torch.stack([region.upper for region in self.regions])
        covers = bool(
            (lower.amin(0) <= relaxation.lower).all() and (upper.amax(0) >= relaxation.upper).all()
        )
        return (
            covers
            and _is_partition(lower, upper, relaxation.whole)
            and self._all_refuted(relaxation, lower, upper)
            and self._sampled_points_violate(plausible)
        )

    def _plausible(self) -> PlausibleSet:
        if not self.problem.boxes:  # known constraints contradict each other
            return PlausibleSet(self.problem.program, {}, {})
        return plausible_set(self.problem.program, self.history, self.beta)

    def _all_refuted(self, relaxation: PlausibleRelaxation, lower: Tensor, upper: Tensor) -> bool:
        rays = torch.tensor(self.multipliers)
        margins = torch.tensor([region.margin for region in self.regions], dtype=torch.float64)
        if (rays < 0).any() or (rays.sum(1) > 1 + 1e-9).any():
            return False
        weights = torch.cat([torch.zeros(len(rays), 1, dtype=rays.dtype), rays], 1)
        with torch.no_grad():
            for start in range(0, len(lower), CERTIFICATES.chunk):
                part = slice(start, start + CERTIFICATES.chunk)
                regions = relaxation.over(lower[part], upper[part])
                # Each region needs only its own weights: the diagonal.
                excess = regions.bound(weights[part]).diagonal()
                # Another batch rounds differently, by no more than the slack.
                refuted = (excess > 0) & (excess >= margins[part] - 2 * regions.slack)
                if not (regions.empty | refuted).all():
                    return False
        return True

    def _sampled_points_violate(self, plausible: PlausibleSet) -> bool:
        engine = torch.quasirandom.SobolEngine(len(plausible.lower), scramble=True, seed=0)
        unit = engine.draw(CERTIFICATES.samples, dtype=torch.float64)
        points = plausible.lower + (plausible.upper - plausible.lower) * unit
        points = rounded(plausible.search_problem(), points)
        # Half of them lie at the ends of the bands, where constraints are most easily met.
        n, half = self.problem.program.size, CERTIFICATES.samples // 2
        points[:half, n:] = _corners(half, points.shape[1] - n)
        with torch.no_grad():
            _, constraints = plausible.evaluate(points)
        worst = torch.nan_to_num(constraints, nan=torch.inf).amax(1)
        return bool((worst >= self.least_violation * (1 - 1e-9)).all())

    def __str__(self) -> str:
        return (
            f"no feasible point: {len(self.regions)} regions, each with a constraint violated by "
            f"at least {self.least_violation:.3g}; to blame: {'; '.join(self.blame())}"
        )

    def _repr_html_(self) -> str:
        return labelled(
            [
                ("proof", "no point is feasible while the bands hold"),
                ("to blame", "\n".join(self.blame())),
                ("violated by", f"at least {self.least_violation:.3g} at every point"),
                ("regions", len(self.regions)),
                ("trials", len(self.history)),
                ("bands", rule_of(self.beta)),
            ]
        )


def _corners(count: int, size: int) -> Tensor:
    """Draw corners of the cube [-1, 1]^size, (count, size), for a power of two `count`.

    Each group of log2(count) coordinates takes all its corners equally often, in an order that does
    not depend on the points they are joined with. (The signs of a Sobol point do: in every second
    one, one coordinate follows from the others.)
    """
    bits = count.bit_length() - 1
    generator = torch.Generator().manual_seed(0)
    groups = [torch.randperm(count, generator=generator) for _ in range(0, size, bits)]
    signs = [(order.unsqueeze(1) >> torch.arange(bits)) % 2 for order in groups]
    corners = torch.cat(signs, 1)[:, :size] if signs else torch.zeros(count, 0)
    return 2.0 * corners.double() - 1


class _Subset:
    """A relaxation with some of its constraints."""

    def __init__(self, relaxation: PlausibleRelaxation, subset: Sequence[int]) -> None:
        self._relaxation = relaxation
        self._rows = [0, *(1 + k for k in subset)]
        self.lower, self.upper = relaxation.lower, relaxation.upper
        self.constraints = len(subset)
        self.groups, self.whole = relaxation.groups, relaxation.whole

    def over(self, lower: Tensor, upper: Tensor) -> Regions:
        """Examine a batch of regions, (regions, D) twice."""
        regions = self._relaxation.over(lower, upper)
        return _SubsetRegions(regions, self._rows, 1 + self._relaxation.constraints)

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Points to search from."""
        return self._relaxation.starts(lower, upper)


class _SubsetRegions:
    """Bounds over regions with some of the constraints: the others get weight 0."""

    def __init__(self, regions: Regions, rows: list[int], outputs: int) -> None:
        self._regions, self._rows, self._outputs = regions, torch.tensor(rows), outputs
        self.lower, self.upper, self.empty = regions.lower, regions.upper, regions.empty
        self.looser = regions.looser
        self.slack = 0.0

    def _weights(self, weights: Tensor) -> Tensor:
        nothing = torch.zeros(len(weights), self._outputs, dtype=weights.dtype)
        return nothing.index_copy(1, self._rows, weights)

    def bound(self, weights: Tensor, target: float = torch.inf) -> Tensor:
        return self._regions.bound(self._weights(weights), target)

    def dual(self, weights: Tensor) -> Tensor:
        return self._regions.dual(self._weights(weights))


def _refutes(relaxation: _Subset, regions: int) -> bool:
    """Whether a proof that takes so many regions shows that there is no feasible point."""
    limits = Limits(
        absolute_gap=0.0, relative_gap=0.0, regions=max(regions, 200), seconds=None, batch=32
    )
    scale = torch.ones(1 + relaxation.constraints, dtype=torch.float64)
    with torch.no_grad():
        proof = branch_and_bound(relaxation, scale, torch.inf, limits, lambda *_region: torch.inf)
    return proof.status is ProofStatus.INFEASIBLE


def _is_partition(lower: Tensor, upper: Tensor, whole: Tensor | None = None) -> bool:
    """Whether regions fill their bounding region without a hole, by cuts that no region crosses.

    Args:
        lower: (regions, D).
        upper: (regions, D).
        whole: (D,), which variables are whole numbers: the part between two of these is no hole.
    """
    steps = np.zeros(lower.shape[1]) if whole is None else whole.numpy().astype(float)
    stack = [(lower.numpy(), upper.numpy(), lower.amin(0).numpy(), upper.amax(0).numpy())]
    while stack:
        low, high, start, end = stack.pop()
        if len(low) == 1:
            if not (low[0] <= start).all() or not (high[0] >= end).all():
                return False
            continue
        if (cut := _clean_cut(low, high, start, end, steps)) is None:
            return False
        axis, place = cut
        left = high[:, axis] <= place
        middle_end, middle_start = end.copy(), start.copy()
        middle_end[axis], middle_start[axis] = place, place + steps[axis]
        stack.append((low[left], high[left], start, middle_end))
        stack.append((low[~left], high[~left], middle_start, end))
    return True


def _clean_cut(
    low: Array, high: Array, start: Array, end: Array, steps: Array
) -> tuple[int, float] | None:
    """A place that cuts the bounding region, but none of the regions in it.

    Where the step is 1, the next part starts at the next whole number.
    """
    for axis in range(low.shape[1]):
        for place in np.unique(high[:, axis]):
            if steps[axis]:
                between = start[axis] <= place < end[axis] and place == np.rint(place)
                crossed = (low[:, axis] <= place) & (high[:, axis] > place)
            else:
                between = start[axis] < place < end[axis]
                crossed = (low[:, axis] < place) & (high[:, axis] > place)
            if between and not crossed.any():
                return axis, float(place)
    return None
