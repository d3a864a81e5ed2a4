"""The relaxation of the auxiliary problem, which a global search needs.

We branch on the design variables and on every black-box output that enters nonlinearly or that
another black box reads. The range of such an output contracts to what its band allows over the
region of x. All other outputs need no branching: where their weight is positive, the lower end l of
their band counts, where it is negative, the upper end u. Quadratics below l and -u
(`band_minorants`) take their place, so that one separable quadratic is left to minimize over a
region, in closed form.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from grisaille.certification.band_minorants import BandMinorants, can_be_bounded
from grisaille.certification.branching_variables import branched_outputs, state_sources
from grisaille.certification.clipped_bands import ClippedBands
from grisaille.certification.lowering import lowered
from grisaille.certification.propagation import obstacles
from grisaille.certification.regions import PlausibleRegions
from grisaille.certification.search_coordinates import in_search_coordinates
from grisaille.certification.starting_points import at_ends, linear_optimum, spread_points
from grisaille.confidence.design_problem import whole_entries
from grisaille.confidence.logarithmic_inputs import learned_in_logarithm
from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.language.program import Program
from grisaille.solvers.proof import NoRelaxation
from grisaille.solvers.search_problem import SearchProblem, rounded
from grisaille.surrogates.posterior import Posterior

# From this many inputs of a black box on, bounding the bands a second time is worth its time.
_BOUND_TWICE = 3


def relaxed(plausible: PlausibleSet) -> SearchProblem:
    """The auxiliary problem as a search problem, with bounds for a global search."""
    return replace(plausible.search_problem(), relax=lambda: PlausibleRelaxation(plausible))


def branching_variables(program: Program) -> int:
    """How many variables a global search of the auxiliary problem branches on."""
    return program.size + int(branched_outputs(_lowered(program)).sum())


def _lowered(program: Program) -> Program:
    """The program in elementary operations, over search coordinates."""
    expressions, variables = in_search_coordinates(program)
    return Program(lowered(expressions), variables)


class PlausibleRelaxation:
    """The relaxation of the auxiliary problem, as solvers need it.

    Args:
        plausible: The plausible set.

    Raises:
        NoRelaxation: A part of the problem cannot be bounded.

    Attributes:
        lower: (D,), the design variables, in search coordinates, and then the outputs that we
            branch on.
        upper: (D,).
        constraints: K.
        groups: The design variables, and each branched output.
        whole: (D,), which of these must be whole numbers; None if none must.
        beliefs: The surrogates, as functions of what the lowered program calls them with.
    """

    def __init__(self, plausible: PlausibleSet) -> None:
        self.plausible = plausible
        noisy = [box.name for box in plausible.program.boxes if box.process_noise]
        if noisy:
            raise NoRelaxation(
                f"black box {noisy[0]!r} has process noise, and proofs do not cover averages"
            )
        self.program = _lowered(plausible.program)
        reasons = obstacles(self.program) + [
            f"black box {name!r} has a model of its own, which proofs know nothing about: leave "
            "model= out to have one"
            for name, belief in plausible.beliefs.items()
            if not isinstance(belief, Posterior) and name not in plausible.intervals
        ]
        reasons += [
            f"black box {name!r} has a product of kernels or a kernel of its own, whose bands are "
            "not bounded over regions"
            for name, belief in plausible.beliefs.items()
            if isinstance(belief, Posterior)
            and not can_be_bounded(belief.kernel)
            and name not in plausible.intervals
        ]
        if reasons:
            raise NoRelaxation(", ".join(reasons))
        # A search may have chosen another device than the one where the beliefs were learned.
        device = torch.get_default_device()
        self.beta = {name: beta.to(device) for name, beta in plausible.beta.items()}
        self.beliefs = {
            name: belief.of_logarithms().on(device) if isinstance(belief, Posterior) else belief
            for name, belief in plausible.beliefs.items()
        }
        minorants = {
            name: BandMinorants(belief, self.beta[name])
            for name, belief in self.beliefs.items()
            if isinstance(belief, Posterior) and can_be_bounded(belief.kernel)
        }
        intervals = {
            box.name: plausible.intervals[box.name]
            .of_logarithms(learned_in_logarithm(plausible.program, box))
            .on(device)
            for box in plausible.program.boxes
            if box.name in plausible.intervals
        }
        self.bands = {
            call.node: ClippedBands(
                call.box, minorants.get(call.box.name), intervals.get(call.box.name)
            )
            for call in self.program.calls
        }
        n = self.program.size
        branched = np.flatnonzero(branched_outputs(self.program))
        self.column_of_output = np.full(self.program.box_outputs, -1)
        self.column_of_output[branched] = n + np.arange(len(branched))
        self.sources = state_sources(self.program, self.column_of_output)
        self.constraints = sum(
            self.program.nodes[p].expression.size for p in self.program.outputs[1:]
        )
        unbounded = torch.full((1, len(branched)), torch.inf, dtype=torch.float64)
        space = self.program.space
        lower = torch.cat([torch.tensor(space.search_lower).unsqueeze(0), -unbounded], 1)
        upper = torch.cat([torch.tensor(space.search_upper).unsqueeze(0), unbounded], 1)
        # A mean alone has nothing to touch: its bound would be the same.
        wide = max((len(source) for source in self.sources), default=0) >= _BOUND_TWICE
        self.bounds_twice = wide and any(bool(beta.any()) for beta in self.beta.values())
        # Tables pay only where the ranges of outputs matter.
        root = PlausibleRegions(self, lower, upper, tabulate=len(branched) > 0)
        self.lower, self.upper = root.lower[0], root.upper[0]
        for node, sides in root.needed_sides().items():
            self.bands[node].restrict(sides)
        self.groups = [list(range(n)), *([n + i] for i in range(len(branched)))]
        whole, _ = whole_entries(self.program, len(self.lower))
        self.whole = None if whole is None else whole.to(device)

    def over(self, lower: Tensor, upper: Tensor) -> PlausibleRegions:
        """Examine a batch of regions, (regions, D) twice."""
        return PlausibleRegions(self, lower, upper)

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Points (x, eta) of the plausible set in regions, to search from.

        Design points in the middle of the bands, at their ends, and at the ends that are best for
        the objective; the centre of each region, outputs included; and the best eta at the centre.
        Entries that must be whole are. They lie on the processor, where searches run.
        """
        if lower.is_cuda or torch.get_default_device().type != "cpu":
            ends = -self.over(lower, upper).objective_signs().cpu()
            with torch.device("cpu"):
                return self._starts(lower.cpu(), upper.cpu(), ends)
        return self._starts(lower, upper, None)

    def _starts(self, lower: Tensor, upper: Tensor, ends: Tensor | None) -> Tensor:
        n = self.program.size
        low, high, center = lower[:, :n], upper[:, :n], (lower + upper) / 2
        if self.whole is not None:
            center = torch.where(self.whole.to(center.device), center.round(), center)
        points = [spread_points(self.plausible, low, high)]
        # Lowering merges equal calls. Then the outputs of both programs do not correspond.
        programs = (self.program, self.plausible.program)
        names, others = ([call.box.name for call in program.calls] for program in programs)
        if names != others:
            return self._rounded(points[0])
        controls = self.plausible.controls
        if ends is None:
            ends = -self.over(lower, upper).objective_signs()
        points.append(at_ends(low, high, controls.closest(ends)))
        branched = self.column_of_output >= 0
        for row, end in zip(center.numpy(), ends, strict=True):
            if branched.any():
                outputs = np.zeros(self.program.box_outputs)
                outputs[branched] = row[self.column_of_output[branched]]
                x = self.plausible.program.space.design(torch.tensor(row[:n]))
                point = self.plausible.locate(x, outputs)
                if controls.is_plain:
                    point[n:] = torch.where(torch.tensor(branched), point[n:], end)
                points.append(point.unsqueeze(0))
            points.append(linear_optimum(self.plausible, torch.tensor(row[:n])))
        return self._rounded(torch.cat(points))

    def _rounded(self, points: Tensor) -> Tensor:
        """Points (x, eta) whose design points have whole numbers where they must."""
        return rounded(self.plausible.search_problem(), points)
