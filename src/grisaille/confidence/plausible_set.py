"""Confidence bands and the plausible set, as a box.

With one eta in [-1, 1] per black-box output and z = (l + u)/2 + eta (u - l)/2, every (x, eta) is
plausible and every plausible z has its eta: the interval constraints of Alg. 1 and 2 vanish. One
graph serves objective and constraints, so they share their intermediate values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.confidence.bands import confidence_band, constant_widths, mean_and_reach
from grisaille.confidence.beliefs import (
    Beliefs,
    accepted,
    believe,
    disturbance,
)
from grisaille.confidence.controls import Controls
from grisaille.confidence.declared_intervals import DeclaredInterval, declared_intervals
from grisaille.confidence.design_problem import design_problem, design_region, whole_entries
from grisaille.confidence.plausible_slopes import PlausibleSlopes, WithSlopes, has_slopes
from grisaille.confidence.process_noise import Band, Disturbances
from grisaille.confidence.read_together import blocks_of
from grisaille.language.program import BoxCall, Program, split_outputs
from grisaille.records import History
from grisaille.solvers.search_problem import Evaluate, SearchProblem

# The part of an equality's tolerance that a recommendation leaves to errors of the prediction.
_SURE_PART = 0.9


class PlausibleSet:
    """All (x, eta): design points with intermediate values that the bands allow.

    With process noise, objective and constraints are expected values, and eta may depend on the
    state (`Disturbances`): a point is then (x, eta, w). Points are in search coordinates
    (`DesignSpace`), and design points are in the user's units.

    Args:
        program: Objective and constraints.
        beliefs: A surrogate for each black box.
        beta: Half-width of the bands in posterior standard deviations, (k,) for each black box.
        intervals: What declarations and answers leave to the black boxes whose bands they cut.
    """

    def __init__(
        self,
        program: Program,
        beliefs: Beliefs,
        beta: Mapping[str, Tensor],
        intervals: Mapping[str, DeclaredInterval] | None = None,
    ) -> None:
        self.program = program
        self.beliefs = beliefs
        self.beta = beta
        self.intervals = intervals or {}
        self.disturbances: Disturbances | None = None
        self.controls = Controls(program, beliefs)
        controls = self.controls.count
        if program.process_noise:
            noisy = [box for box in program.boxes if box.process_noise]
            deviations = {box.name: disturbance(box, beliefs[box.name]) for box in noisy}
            self.disturbances = Disturbances(program, deviations)
            controls += self.disturbances.weights
        eta = torch.ones(controls, dtype=torch.float64)
        self.lower = torch.cat([torch.tensor(program.space.search_lower), -eta])
        self.upper = torch.cat([torch.tensor(program.space.search_upper), eta])

    def scaled(self, factor: float | Mapping[str, float]) -> PlausibleSet:
        """The same with bands `factor` times as wide: one for all black boxes, or one for each."""
        factors = factor if isinstance(factor, Mapping) else dict.fromkeys(self.beta, factor)
        wider = {name: factors[name] * beta for name, beta in self.beta.items()}
        return PlausibleSet(self.program, self.beliefs, wider, self.intervals)

    def widened(self, deviations: float) -> PlausibleSet:
        """Return the same with bands that reach so many standard deviations further."""
        wider = {name: beta + deviations for name, beta in self.beta.items()}
        return PlausibleSet(self.program, self.beliefs, wider, self.intervals)

    def search_problem(self) -> SearchProblem:
        """The auxiliary problem (Alg. 2 line 2) as a box with inequalities."""
        whole, nominal = whole_entries(self.program, len(self.lower))
        return SearchProblem(
            self.lower,
            self.upper,
            self._with_slopes(self.evaluate, lambda slopes: slopes.auxiliary),
            self.program.continuous,
            whole=whole,
            nominal=nominal,
            region=design_region(self.program),
            blocks=blocks_of(self.program, len(self.lower), self.controls.columns),
        )

    def _with_slopes(
        self,
        evaluate: Evaluate,
        choose: Callable[[PlausibleSlopes], Callable[[Array], tuple[Array, Array]]],
    ) -> Evaluate:
        """What to evaluate, with slopes that come at once where these can be worked out."""
        if not has_slopes(self.program, self.beliefs, self.intervals):
            return evaluate
        slopes = PlausibleSlopes(self.program, self.beliefs, self.beta)
        return WithSlopes(evaluate, choose(slopes))

    def evaluate(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Objective (batch,) and constraints (batch, K) at points (batch, n + outputs)."""
        n, batch = self.program.size, len(points)
        at_once = self.controls.at_once(batch)
        if at_once < batch and not torch.is_grad_enabled():
            parts = [self.evaluate(part) for part in points.split(at_once)]
            return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])
        return self._outcome(self.program.space.to_design(points[:, :n]), points[:, n:])

    def _outcome(self, design: Tensor, controls: Tensor) -> tuple[Tensor, Tensor]:
        """Objective and constraints at design points (batch, n) and eta, w (batch, controls)."""
        return split_outputs(self.run(design, controls, self.band))

    def run(self, design: Tensor, controls: Tensor, band: Band) -> list[Tensor]:
        """What the program computes at design points and eta, w, with these bands."""
        eta = self.controls.eta(controls[:, : self.controls.count])
        if self.disturbances is not None:
            weights = controls[:, self.controls.count :]
            return self.disturbances.run(design, eta, weights, band)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            return _inside(band(call, states), eta[:, call.columns])

        return self.program.run(design, resolve)

    def _parts(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """The design points and the eta of points."""
        n, end = self.program.size, self.program.size + self.controls.count
        return self.program.space.to_design(points[:, :n]), self.controls.eta(points[:, n:end])

    def band(self, call: BoxCall, states: Tensor) -> tuple[Tensor, Tensor]:
        """L and u of a call's outputs at states (batch, inputs), Def. hpb_int."""
        name = call.box.name
        interval = self.intervals.get(name)
        return confidence_band(self.beliefs[name], self.beta[name], call, states, interval)

    def visit(self, points: Tensor, look: Callable[[BoxCall, Tensor], None]) -> None:
        """Show the states of every call at points (batch, n + outputs), or (batch, n) for eta 0."""
        missing = len(self.lower) - points.shape[1]
        if missing:
            points = torch.cat([points, points.new_zeros(len(points), missing)], 1)
        design, eta = self._parts(points)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            look(call, states)
            return _inside(self.band(call, states), eta[:, call.columns])

        self.program.run(design, resolve)

    def trace(self, point: Tensor) -> tuple[list[Array], Array]:
        """Where a point (x, eta) goes: the state s̄ of each call, and the outputs z̄ of all.

        With process noise, where it would go undisturbed.
        """
        design, eta = self._parts(point.unsqueeze(0))
        states_of: list[Array] = []
        outputs: list[Array] = []

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            answer = _inside(self.band(call, states), eta[:, call.columns])
            states_of.append(accepted(call.box, states)[0].numpy().copy())
            outputs.append(answer[0].numpy().copy())
            return answer

        with torch.no_grad():
            self.program.run(design, resolve)
        return states_of, np.concatenate(outputs) if outputs else np.zeros(0)

    def locate(self, x: Array, outputs: Array) -> Tensor:
        """The point (x, eta) whose intermediate values come closest to given ones, flat.

        Args:
            x: The design point, flat.
            outputs: z̄, the outputs of all calls.
        """
        wanted = torch.tensor(outputs)
        eta = torch.zeros(1, self.program.box_outputs, dtype=torch.float64)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            lower, upper = self.band(call, states)
            half = ((upper - lower) / 2).clamp_min(1e-300)
            offset = (wanted[call.columns] - (lower + upper) / 2) / half
            eta[:, call.columns] = offset.clamp(-1, 1)
            return _inside((lower, upper), eta[:, call.columns])

        with torch.no_grad():
            self.program.run(torch.tensor(x).unsqueeze(0), resolve)
        controls = self.controls.closest(eta)[0]
        weights = eta.new_zeros(len(self.lower) - len(x) - len(controls))
        return torch.cat([self.program.space.to_search(torch.tensor(x)), controls, weights])

    def reaches(self, x: Array, outputs: Array) -> Array:
        """Beta sigma(s̄) of every output of every call, where their values are given.

        Args:
            x: The design point, flat.
            outputs: z̄, the outputs of all calls.
        """
        given = torch.tensor(outputs).unsqueeze(0)
        reaches: list[Array] = []

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            name = call.box.name
            _, reach = mean_and_reach(self.beliefs[name], self.beta[name], call, states)
            reaches.append(reach[0].numpy())
            return given[:, call.columns]

        with torch.no_grad():
            self.program.run(torch.tensor(x).unsqueeze(0), resolve)
        return np.concatenate(reaches) if reaches else np.zeros(0)

    def cautious_problem(self, margin: Tensor) -> SearchProblem:
        """Minimize the predicted objective where constraints hold with certainty, over x alone.

        Each constraint must hold with the deviation that the bands give it added: the root of
        the summed squares of how far it rises when one eta at a time goes to -1 or to 1.

        Args:
            margin: (K,), a distance to keep beyond that, so that rounding cannot spoil it.
        """
        # An equality never holds with certainty: it is to be met as well as predictions allow.
        tolerances = torch.tensor(self.program.equality_tolerances)
        kept = torch.where(tolerances > 0, _SURE_PART * tolerances, margin)

        def evaluate(design: Tensor) -> tuple[Tensor, Tensor]:
            objective, constraints, deviation = self.predict(design)
            return objective, constraints + deviation + kept

        problem = design_problem(self.program, evaluate)

        def choose(slopes: PlausibleSlopes) -> Callable[[Array], tuple[Array, Array]]:
            return lambda points: slopes.cautious(points, kept.numpy())

        return replace(
            problem,
            evaluate=self._with_slopes(problem.evaluate, choose),
            blocks=blocks_of(self.program, len(problem.lower)),
        )

    def highest(self, x: Array) -> float:
        """How large the objective can be at a design point, flat, within the bands.

        Each eta in turn goes to its worse end, and then all of them together; what they add one by
        one counts if that is more.
        """
        controls = len(self.lower) - self.program.size
        axes = torch.eye(controls, dtype=torch.float64)
        probes = torch.cat([torch.zeros_like(axes[:1]), axes, -axes])
        design = torch.tensor(x).unsqueeze(0)
        with torch.no_grad():
            values, _ = self._outcome(design.expand(len(probes), -1), probes)
            ups, downs = values[1 : controls + 1], values[controls + 1 :]
            corner = torch.where(ups >= downs, 1.0, -1.0).to(design.dtype).unsqueeze(0)
            together, _ = self._outcome(design, corner)
        rises = (torch.maximum(ups, downs) - values[0]).clamp_min(0)
        return max(float(values[0] + rises.sum()), float(together[0]))

    def predict(self, design: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Predicted objective and constraints, and how far constraints may be off.

        Args:
            design: (batch, n).

        Returns:
            Objective (batch,), constraints (batch, K), their deviations (batch, K): how far they
            may rise, which is beta standard deviations to first order; 0 for equalities, which
            are judged by their prediction.
        """
        batch = len(design)
        # Without constraints nothing needs a deviation, and one pass is enough.
        constrained = len(self.program.outputs) > 1
        m = self.controls.count if constrained else 0
        controls = len(self.lower) - self.program.size
        center = torch.zeros(1, controls, dtype=torch.float64)
        axes = torch.eye(controls, dtype=torch.float64)[:m]
        probes = torch.cat([center, axes, -axes])
        designs = design.unsqueeze(0).expand(len(probes), -1, -1).flatten(0, 1)
        controlled = probes.unsqueeze(1).expand(-1, batch, -1).flatten(0, 1)
        objective, constraints = self._outcome(designs, controlled)
        constraints = constraints.reshape(len(probes), batch, -1)
        # The worse of the two ends counts: those of z**2 around 0 are alike, yet not harmless.
        rise = torch.maximum(constraints[1 : m + 1], constraints[m + 1 :]) - constraints[0]
        # The floor keeps the root differentiable for constraints that no black box reaches.
        deviation = (rise.clamp_min(0).square().sum(0) + 1e-30).sqrt()
        equal = torch.tensor(self.program.equality_tolerances > 0)
        deviation = torch.where(equal, 0.0, deviation) if equal.any() else deviation
        return objective[:batch], constraints[0], deviation


def _inside(band: tuple[Tensor, Tensor], eta: Tensor) -> Tensor:
    """The point of a band that eta in [-1, 1] stands for."""
    lower, upper = band
    return (lower + upper) / 2 + eta * (upper - lower) / 2


@runtime_checkable
class BandRule(Protocol):
    """Gives bands from what was declared and observed, with nothing learned; `Theory` is one."""

    def plausible_set(self, program: Program, history: History) -> PlausibleSet:
        """The plausible set after a history."""
        ...

    def __hash__(self) -> int: ...


Beta = float | BandRule
"""Half-width of the bands in posterior standard deviations, or the rule that gives it."""


def plausible_set(program: Program, history: History, beta: Beta, at_once: int = 1) -> PlausibleSet:
    """The plausible set after a history.

    Args:
        program: Objective and constraints.
        history: What was observed.
        beta: A constant half-width of the bands, or a rule.
        at_once: How many evaluations are made at once: hyper-parameters are learned once for all.
    """
    if isinstance(beta, BandRule):
        return beta.plausible_set(program, history)
    beliefs = believe(program, history, at_once=at_once)
    widths = constant_widths(program, beta)
    return PlausibleSet(program, beliefs, widths, declared_intervals(program, history))
