"""What is believed of the effects of interventions before one is made.

The causal prior of "Causal Bayesian optimization" (Aglietti, Lu, Paleyes and Gonzalez 2020): mean
and variance of Y under do(X = x), from mechanisms that were learned by watching alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from grisaille.confidence.beliefs import Beliefs, accepted, disturbance, returned
from grisaille.confidence.sampled_network import normal_samples
from grisaille.language.program import BoxCall, Program, split_outputs

# Quasi-random runs of the learned system, and their seed: always the same, so that moments are
# smooth functions of the intervention.
_RUNS = 64
_SEED = 0
# Interventions whose average stands for those that nothing is known of.
_PLACES = 64


class Prior(Protocol):
    """Mean and deviation of objective and constraints under interventions."""

    def moments(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Means and standard deviations at values (batch, d) of what is set.

        Returns:
            Two tensors (batch, 1 + K): the objective, minimized, and the constraint bodies.
        """
        ...


class CausalPrior:
    """Runs of the learned system under interventions.

    Each mechanism answers mu(s) + sqrt(sigma(s)^2 + lambda) e at the states that the run has
    reached: mean and deviation of its surrogate, variance of its process noise, and a fixed
    quasi-random normal number e.

    Args:
        program: The system under the interventions; its variables are what is set.
        beliefs: A surrogate for each mechanism.
    """

    def __init__(self, program: Program, beliefs: Beliefs) -> None:
        self.program = program
        self.beliefs = beliefs
        self.normal = normal_samples(program, _RUNS, _SEED) if program.calls else torch.zeros(1, 0)
        # What no intervention reaches is the same for all of them: it is run once.
        self._unreached: dict[int, Tensor] = {}
        unreached = {c.node for c in program.calls if not Program(c.arguments).variables}
        with torch.no_grad():
            self.runs(torch.tensor(program.lower).unsqueeze(0), keep=unreached)
        outputs = [program.nodes[position].expression for position in program.outputs]
        self._unknown = torch.cat(
            [torch.full((part.size,), bool(Program([part]).calls)) for part in outputs]
        )
        self._neutral: tuple[Tensor, Tensor] | None = None

    def moments(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of all runs, (batch, 1 + K) each.

        A known part may have no value in some runs (the root of a negative number, say): the others
        count. Where it has none in any run, average moments of all interventions take their place;
        but what reads no mechanism is left without a value.
        """
        mean, deviation = self._of_finite_runs(values)
        missing = self._unknown & ~torch.isfinite(mean)
        if missing.any():
            neutral = self._average()
            mean = torch.where(missing, neutral[0], mean)
            deviation = torch.where(missing, neutral[1], deviation)
        return mean, deviation

    def _of_finite_runs(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and deviation of the runs that have a value; no number where none has."""
        runs = self.runs(values)
        finite = torch.isfinite(runs)
        count = finite.sum(0)
        mean = torch.where(finite, runs, 0.0).sum(0) / count
        # The floor keeps the root differentiable for what no mechanism reaches.
        squares = torch.where(finite, runs - mean, 0.0).square().sum(0) / count
        return mean, squares.clamp_min(1e-300).sqrt()

    def _average(self) -> tuple[Tensor, Tensor]:
        """Mean and deviation of an output where it has a value, (1 + K,) each; else 0 and 1."""
        if self._neutral is None:
            program = self.program
            places = torch.tensor(program.lower).unsqueeze(0)
            if program.size:
                engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=_SEED)
                unit = engine.draw(_PLACES, dtype=torch.float64)
                places = places + (torch.tensor(program.upper) - places) * unit
            with torch.no_grad():
                mean, deviation = self._of_finite_runs(places)
            level, within = mean.nanmean(0), deviation.square().nanmean(0)
            between = (mean - level).square().nanmean(0)
            spread = torch.nan_to_num((within + between).sqrt(), nan=1.0)
            self._neutral = torch.nan_to_num(level, nan=0.0), spread
        return self._neutral

    def runs(self, values: Tensor, keep: Collection[int] = ()) -> Tensor:
        """Objective and constraints of every run at values (batch, d), (runs, batch, 1 + K).

        Args:
            values: What is set.
            keep: Nodes whose answers to keep for all later runs.
        """
        runs, batch = len(self.normal), len(values)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            if call.node in self._unreached:
                return self._unreached[call.node].repeat_interleave(batch, 0)
            states = states.expand(runs * batch, -1)
            if call.first_layer:  # all runs share the state, so one prediction serves them
                states = states[:batch]
            mean, deviation = self.beliefs[call.box.name].predict(accepted(call.box, states))
            if call.box.process_noise:
                noise = disturbance(call.box, self.beliefs[call.box.name])
                deviation = (deviation.square() + noise.square()).sqrt()
            k = call.box.outputs
            shape = (1 if call.first_layer else runs, batch, k)
            normal = self.normal[:, None, call.columns]
            drawn = (mean.reshape(shape) + deviation.reshape(shape) * normal).reshape(-1, k)
            drawn = returned(call.box, drawn)
            if call.node in keep:
                self._unreached[call.node] = drawn
            return drawn

        outputs = split_outputs(self.program.run(values.repeat(runs, 1), resolve))
        joined = torch.cat([outputs[0].unsqueeze(1), outputs[1]], 1)
        return joined.reshape(runs, batch, joined.shape[1])


@dataclass(frozen=True, slots=True)
class NoPrior:
    """Nothing was watched: constant means, and deviations that leave the level open.

    Attributes:
        program: The system under the interventions.
        unknown: (1 + K,), which outputs read a mechanism; the others are computed.
        mean: (1 + K,).
        deviation: (1 + K,).
    """

    program: Program
    unknown: Tensor
    mean: Tensor
    deviation: Tensor

    def moments(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The same everywhere, but for what is known, (batch, 1 + K) each."""

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            return states.new_zeros(len(values), call.box.outputs)

        objective, bodies = split_outputs(self.program.run(values, resolve))
        known = torch.cat([objective.unsqueeze(1), bodies], 1)
        mean = torch.where(self.unknown, self.mean, known)
        deviation = torch.where(self.unknown, self.deviation, 0.0)
        return mean, deviation.expand_as(mean)
