"""The belief about objective and constraints under each set of interventions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.belief.learning import Beliefs, accepted, believe, disturbance, returned
from grisaille.belief.processes.effects import EffectData, EffectProcess, learned_effect
from grisaille.belief.sampled_network import normal_samples
from grisaille.language.causal.model import CausalModel, Rows
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program, split_outputs
from grisaille.records import History
from grisaille.reductions.collapse import unknown_outputs
from grisaille.reductions.interventions import mechanism_history, system_failures

# --- prior ----------------------------------------------------------------------------------------
# Beliefs about the effects of interventions before one is made.
#
# The causal prior of "Causal Bayesian optimization" (Aglietti, Lu, Paleyes and Gonzalez 2020):
# mean and variance of Y under do(X = x), from mechanisms that were learned by watching alone.

# Quasi-random runs of the learned system, and their seed: always the same, so that moments are
# smooth functions of the intervention.
_RUNS = 64
_SEED = 0
# Interventions whose average stands for those that nothing is known of.


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


# --- effects --------------------------------------------------------------------------------------
# Beliefs about objective and constraints under each set of interventions.

# A spread of few runs is trusted as if this many runs of the typical spread came on top.
_TYPICAL_RUNS = 5
# Interventions at which the size of an effect is judged before it is seen.
_PLACES = 64


@dataclass(frozen=True, slots=True)
class Effects:
    """Belief about E[objective] and E[constraints] under one set: independent causal processes.

    Attributes:
        program: The system under the interventions; its variables are what is set.
        prior: What was known before.
        processes: One for each output; None for those that read no mechanism.
        noise: Standard deviation of a trial's noise in the objective.
    """

    program: Program
    prior: Prior
    processes: tuple[EffectProcess | None, ...]
    noise: float

    def predict(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior means and standard deviations at values (batch, d), (batch, 1 + K) each."""
        mean, deviation = self.prior.moments(values)
        unit = _unit(self.program, values)
        means, deviations = [], []
        for process, m, s in zip(self.processes, mean.T, deviation.T, strict=True):
            if process is not None:
                m, s = process.predict(unit, m, s)
            else:
                s = torch.zeros_like(m)
            means.append(m)
            deviations.append(s)
        return torch.stack(means, 1), torch.stack(deviations, 1)

    def with_expected(self, values: Tensor) -> Effects:
        """The same as if answers at values (n, d) had come out as predicted, free of noise."""
        with torch.no_grad():
            expected, _ = self.predict(values)
            mean, deviation = self.prior.moments(values)
        unit = _unit(self.program, values).numpy()
        processes = []
        for column, process in enumerate(self.processes):
            if process is not None:
                old = process.data
                known = np.full(len(old), process.hyperparameters.noise)
                known = known if old.noise is None else old.noise
                process = EffectProcess(
                    process.hyperparameters,
                    EffectData(
                        np.concatenate([old.inputs, unit]),
                        np.concatenate([old.outputs, expected[:, column].numpy()]),
                        np.concatenate([old.mean, mean[:, column].numpy()]),
                        np.concatenate([old.deviation, deviation[:, column].numpy()]),
                        np.concatenate([known, np.zeros(len(unit))]),
                    ),
                )
            processes.append(process)
        return replace(self, processes=tuple(processes))


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What the trials of a study answered.

    Attributes:
        sets: The set of each trial.
        values: What each trial set, a flat point of its set.
        means: (n, 1 + K), objective and constraints, averaged over the runs of a trial.
        noise: (n, 1 + K), variances of these averages; None when a trial is a single run.
        rows: The joint rows of those trials that watched, by trial.
    """

    sets: tuple[int, ...]
    values: tuple[Array, ...]
    means: Array
    noise: Array | None
    rows: tuple[Rows, ...]


def outcomes(causal: CausalModel, history: History) -> Outcomes:
    """What the trials of a history say about interventions."""
    read = [causal.read(t.x) for t in history]
    rows = [causal.rows(t.x, t.chain) for t in history]
    tables = [evaluated(causal, r) for r in rows]
    outputs = len(unknown_outputs(causal.model))
    means = np.array([t.mean(0) for t in tables]).reshape(-1, outputs)
    noise = None
    if causal.runs > 1:
        spread = np.array([t.var(0, ddof=1) for t in tables]).reshape(-1, outputs)
        usable = np.where(np.isfinite(spread), spread, np.nan)
        # Where no trial has a value, nothing is known of the noise, and nothing needs it.
        count = np.isfinite(usable).sum(0)
        typical = np.nansum(usable, 0) / np.maximum(count, 1)
        freedom = causal.runs - 1
        shared = (freedom * spread + _TYPICAL_RUNS * typical) / (freedom + _TYPICAL_RUNS)
        noise = shared / causal.runs
    watched = tuple(r for r, (number, _) in zip(rows, read, strict=True) if watches(causal, number))
    return Outcomes(
        tuple(number for number, _ in read), tuple(v for _, v in read), means, noise, watched
    )


def watches(causal: CausalModel, number: int) -> bool:
    """Whether a set sets nothing at all, so that the system is watched as it is."""
    return not causal.sets[number] and not causal.model.variables


def evaluated(causal: CausalModel, rows: Rows) -> Array:
    """Objective, minimized, and constraint bodies of joint rows, (n, 1 + K)."""
    count = len(rows[causal.nodes[0]])
    own = [np.asarray(rows[v.name]).reshape(count, -1) for v in causal.model.variables]
    design = torch.tensor(np.concatenate([np.zeros((count, 0)), *own], axis=1))

    def resolve(call: BoxCall, _states: Tensor) -> Tensor:
        return torch.tensor(np.asarray(rows[call.box.name], dtype=float)).unsqueeze(1)

    objective, bodies = split_outputs(causal.model.program.run(design, resolve))
    return np.concatenate([objective.unsqueeze(1).numpy(), bodies.numpy()], axis=1)


class CausalKnowledge:
    """Priors from what was watched, posteriors from what was tried.

    Args:
        causal: What the problem is about.
        history: What was tried.
    """

    def __init__(self, causal: CausalModel, history: History) -> None:
        self.causal = causal
        self.outcomes = outcomes(causal, history)
        self.useless: Flags = np.logical_not(np.isfinite(self.outcomes.means).all(1))
        """(n,), which trials have no value (the root of a negative number, say)."""
        self.failed = [causal.read(f.x)[0] for f in system_failures(causal, history)]
        """The sets of those trials that the system failed in."""
        watching = tuple(t for t in history if watches(causal, causal.read(t.x)[0]))
        self.watched = mechanism_history(causal, History(watching))
        seen = {o.box for o in self.watched.loose}
        self.informed = seen.issuperset(box.name for box in causal.model.boxes)
        """Whether there is something to learn every mechanism from."""
        self._beliefs: Beliefs | None = None
        self._effects: dict[int, Effects] = {}

    def effects(self, number: int) -> Effects:
        """The belief about a set."""
        if number not in self._effects:
            self._effects[number] = self._learned(number)
        return self._effects[number]

    def untouched(self) -> Array | None:
        """Expected objective and constraints of the system as it is, (1 + K,); None if unknown."""
        if not self.informed or self.causal.model.variables:
            return None
        prior = self._informed(self.causal.model.program)
        with torch.no_grad():
            mean, _ = prior.moments(torch.zeros(1, 0, dtype=torch.float64))
        return np.array(mean[0].numpy())

    def watched_rows(self) -> tuple[Array, Array, Array]:
        """Variables that can be set, as watched, (N, d), and both ends of their ranges, (d,)."""
        targets = {do.name: do.variable for members in self.causal.sets for do in members}
        tables = [self.causal.observations, *self.outcomes.rows]
        rows = [np.concatenate([table[name] for table in tables]) for name in targets]
        lower = np.array([float(v.lower) for v in targets.values()])
        upper = np.array([float(v.upper) for v in targets.values()])
        return np.stack(rows, 1), lower, upper

    def best_tried(self, number: int) -> Tensor:
        """What the trial of a set with the least objective set, (1, d); (0, d) if there is none."""
        here = [i for i, s in enumerate(self.outcomes.sets) if s == number]
        objectives = np.nan_to_num(self.outcomes.means[:, 0], nan=np.inf)
        here = sorted(here, key=lambda i: float(objectives[i]))
        size = self.causal.intervened(number).program.size
        return torch.tensor(np.array([self.outcomes.values[i] for i in here[:1]]).reshape(-1, size))

    def _learned(self, number: int) -> Effects:
        problem = self.causal.intervened(number)
        unknown = unknown_outputs(problem)
        prior = self._informed(problem.program) if self.informed else self._ignorant(problem)
        found = self.outcomes
        here = [i for i, s in enumerate(found.sets) if s == number]
        here = [i for i in here if not self.useless[i]]  # a point without a value teaches nothing
        values = np.array([found.values[i] for i in here]).reshape(len(here), problem.program.size)
        mean = deviation = np.zeros((0, len(unknown)))
        if here:
            with torch.no_grad():
                mean, deviation = (m.numpy() for m in prior.moments(torch.tensor(values)))
        unit = _unit(problem.program, torch.tensor(values)).numpy()
        scales = _scales(problem.program, prior)
        processes: list[EffectProcess | None] = []
        for column in range(len(unknown)):
            data = EffectData(
                unit,
                found.means[here, column],
                mean[:, column],
                deviation[:, column],
                None if found.noise is None else found.noise[here, column],
            )
            process = EffectProcess(learned_effect(data, float(scales[column])), data)
            processes.append(process if unknown[column] else None)
        noise = self._noise(processes[0])
        return Effects(problem.program, prior, tuple(processes), noise)

    def _noise(self, process: EffectProcess | None) -> float:
        """Standard deviation of a trial's noise in the objective: of all trials, or as learned."""
        if process is None:
            return 0.0
        if self.outcomes.noise is None:
            return float(np.sqrt(process.hyperparameters.noise))
        known = self.outcomes.noise[:, 0]
        known = known[np.isfinite(known)]
        return float(np.sqrt(known.mean())) if len(known) else 0.0

    def _informed(self, program: Program) -> CausalPrior:
        if self._beliefs is None:
            self._beliefs = believe(self.causal.model.program, self.watched)
        return CausalPrior(program, self._beliefs)

    def _ignorant(self, problem: Problem) -> NoPrior:
        """What all trials have in common is all there is to start from."""
        means = self.outcomes.means
        means = means[np.isfinite(means).all(1)]
        outputs = means.shape[1]
        center = means.mean(0) if len(means) else np.zeros(outputs)
        spread = means.std(0) if len(means) > 1 else np.ones(outputs)
        spread = np.where(spread > 0, spread, 1.0)
        unknown = torch.tensor(unknown_outputs(problem))
        return NoPrior(problem.program, unknown, torch.tensor(center), torch.tensor(spread))


def _scales(program: Program, prior: Prior) -> Array:
    """How much each output may vary: within the prior, and from intervention to intervention."""
    lower, upper = torch.tensor(program.lower), torch.tensor(program.upper)
    places = lower.unsqueeze(0)
    if program.size:
        engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=0)
        places = lower + (upper - lower) * engine.draw(_PLACES, dtype=torch.float64)
    with torch.no_grad():
        mean, deviation = prior.moments(places)
    scales = (deviation.square().mean(0) + mean.var(0, unbiased=False)).sqrt().numpy()
    return np.where(scales > 1e-9, scales, 1.0)


def _unit(program: Program, values: Tensor) -> Tensor:
    """Values (batch, d) as parts of their ranges."""
    lower, upper = torch.tensor(program.lower), torch.tensor(program.upper)
    return (values - lower) / (upper - lower)
