"""A global search that proves its answer: multi-start search, then branch and bound."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from grisaille.checks import check_amount, check_count, check_solver, is_number
from grisaille.errors import ModelError, shortened
from grisaille.search.branch_and_bound import BRANCH_AND_BOUND, Limits, branch_and_bound
from grisaille.search.multistart import MultiStart, search_from
from grisaille.search.polish import with_stationarity
from grisaille.search.search_problem import (
    NoRelaxation,
    Proof,
    SearchProblem,
    Solution,
    Solver,
    sampled_scale,
)

# --- devices --------------------------------------------------------------------------------------
# The device where tensors are made during a proof: the processor, or another one of PyTorch.


def check_device(who: str, name: str, value: object) -> None:
    """Raise ModelError unless a value names a kind of PyTorch device, or is None."""
    if value is None:
        return
    try:
        if isinstance(value, str):
            torch.device(value)
            return
    except RuntimeError:
        pass
    raise ModelError(
        f"{who}({name}={shortened(value)}): pass the name of a PyTorch device such as 'cuda', or "
        "None for the processor"
    )


def usable_device(name: str | None) -> AbstractContextManager[Any]:
    """A context in which new tensors are made on a device; None changes nothing.

    Raises:
        ModelError: This machine has no such device, or it has no numbers of 64 bits.
    """
    if name is None:
        return nullcontext()
    try:
        torch.zeros(1, dtype=torch.float64, device=name)
    # What PyTorch raises depends on the device that is missing.
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise ModelError(
            f"device={name!r} cannot be used here: {str(error).splitlines()[0]}; pass device=None "
            "for the processor"
        ) from None
    return torch.device(name)


# --- certified ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CertifiedConstants:
    """The constants of the search before a proof.

    Attributes:
        starts: Its local searches. Halved and doubled: no decision of 5 runs changed
            (benchmarks.constants).
        steps: Their steps. Halved and doubled: no decision of 5 runs changed
            (benchmarks.constants).
        on_device: The most regions that a graphics processor splits at a time. Not measured.
    """

    starts: int = 12
    steps: int = 40
    on_device: int = 32_768


CERTIFIED = CertifiedConstants()


@dataclass(frozen=True, slots=True)
class Certified:
    """Solve to global optimality within a gap, or prove that there is no feasible point.

    A light multi-start search gives a point; branch and bound then encloses the optimum from
    below and looks for better points where it may lie. It stops when one of the gaps is reached, or
    at a limit with the bound reached by then.

    Attributes:
        absolute_gap: Close enough, in the objective's units.
        relative_gap: Close enough, as a part of the objective.
        regions: The largest number of regions of the search space to bound. With this limit alone
            the answer is the same on any machine.
        seconds: Longest time; None for no limit.
        batch: The smallest number of regions to split at a time.
        search: The solver that finds the first point.
        device: Where to bound regions, a PyTorch device such as "cuda"; None for the processor. The
            search stays on the processor. Devices round differently, so that answers may differ by
            as much as the bounds allow.
    """

    absolute_gap: float = 1e-3
    relative_gap: float = 1e-4
    # Stored studies name their strategy with the former name of this option.
    regions: int = field(default=100_000, metadata={"stored_as": "boxes"})
    seconds: float | None = None
    batch: int = 32
    search: Solver = field(default_factory=lambda: MultiStart(starts=8, samples=512, iterations=40))
    device: str | None = None

    def __post_init__(self) -> None:
        for name in ("absolute_gap", "relative_gap"):
            check_amount("Certified", name, getattr(self, name))
        for name in ("regions", "batch"):
            check_count("Certified", name, getattr(self, name))
        if self.seconds is not None and not (is_number(self.seconds) and self.seconds > 0):
            raise ModelError(
                f"Certified(seconds={shortened(self.seconds)}): pass a positive number, or None"
            )
        check_solver("Certified", "search", self.search, "gs.MultiStart()")
        check_device("Certified", "device", self.device)

    def solve(self, problem: SearchProblem, hints: Tensor, seed: int) -> Solution:
        """Search for the optimum, and prove how good the answer is as far as the limits allow."""
        return self.prove(problem, self.search.solve(problem, hints, seed), seed)

    def prove(self, problem: SearchProblem, best: Solution, seed: int) -> Solution:
        """Prove how good the result of another search is, or find a better one."""
        upper = best.value if best.feasible else math.inf
        device = usable_device(self.device)
        try:
            if problem.relax is None:
                raise NoRelaxation(
                    "nothing but its values is known, so that only a search is possible"
                )
            with torch.no_grad(), device:
                relaxation = problem.relax()
        except NoRelaxation as reason:
            return replace(best, proof=Proof.unknown(upper, reason=str(reason)))
        scale = sampled_scale(problem, seed)

        def improve(lower: Tensor, upper: Tensor) -> float:
            nonlocal best
            points = relaxation.starts(lower, upper)
            known = best.value if best.feasible else math.inf
            with usable_device(None if self.device is None else "cpu"):
                found = search_from(
                    problem, scale, points, CERTIFIED.starts, CERTIFIED.steps, known
                )
            spent = best.evaluations + found.evaluations
            better = (found.feasible, -found.value) > (best.feasible, -best.value)
            best = replace(found if better else best, evaluations=spent)
            return best.value if best.feasible else math.inf

        limits = Limits(
            absolute_gap=self.absolute_gap,
            relative_gap=self.relative_gap,
            regions=self.regions,
            seconds=self.seconds,
            batch=self.batch,
            largest_batch=CERTIFIED.on_device
            if self.device not in (None, "cpu")
            else BRANCH_AND_BOUND.batch,
        )
        spreads = torch.cat([scale.objective.unsqueeze(0), scale.constraints])
        with torch.no_grad(), device:
            spreads = spreads.to(relaxation.lower.device)
            proof = branch_and_bound(relaxation, spreads, upper, limits, improve)
        if best.stationarity is None:  # branch and bound found it
            best = with_stationarity(problem, scale, best)
        return replace(best, proof=proof)
