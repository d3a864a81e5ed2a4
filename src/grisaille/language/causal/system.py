"""The system behind a problem over interventions: real, or simulated from its mechanisms."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import real_numbers
from grisaille.errors import EvaluationError, ModelError, shortened
from grisaille.language.causal.do_operator import substitute
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program
from grisaille.language.variable import Variable

System = Callable[[dict[str, Any], np.random.Generator], Mapping[str, float]]
"""One run: `(what is set, by name; generator) -> every variable of the system, by name`."""

INTERVENTION = "intervention"
"""Name of the variable that chooses the intervention set."""


def set_number(value: Any, sets: int) -> int:
    """Number of the set that a value of that variable stands for; 0 if there is no choice."""
    return 0 if value is None else int(np.clip(np.rint(value), 0, sets - 1).item())


class Simulation:
    """A system simulated from its mechanisms: z = f(causes) + noise e, with e standard normal.

    A value beyond the declared `lower` or `upper` of its black box is moved to that end.

    Args:
        model: A causal model whose black boxes have a function, which is the mechanism without
            its disturbance, and a number as `noise`.
    """

    def __init__(self, model: Problem) -> None:
        for box in model.boxes:
            if box.fn is None or box.noise is None:
                lacks = "function (fn=None)" if box.fn is None else "noise"
                raise ModelError(
                    f"causal_problem: black box {box.name!r} has no {lacks}, so the system cannot "
                    "be simulated: give it, or pass system="
                )
        self._model = model
        self._programs: dict[frozenset[str], Program] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Simulation, (self._model,)

    def __call__(self, values: dict[str, Any], generator: np.random.Generator) -> dict[str, float]:
        """One run of the system with some of its variables, and all of the model's, set."""
        program = self._program(frozenset(values))
        flat = (np.ravel(values[v.name]) for v in program.variables)
        point = np.concatenate([np.zeros(0), *flat])

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            assert call.box.noise is not None
            undisturbed = call.box.evaluate(states[0].numpy().copy())
            disturbance = call.box.noise * generator.standard_normal(call.box.outputs)
            value = undisturbed + disturbance
            if call.box.lower is not None:
                value = np.maximum(value, call.box.lower)
            if call.box.upper is not None:
                value = np.minimum(value, call.box.upper)
            return torch.tensor(value).unsqueeze(0)

        with torch.no_grad():
            outputs = program.run(torch.tensor(point).unsqueeze(0), resolve)
        calls = self._model.program.calls
        return {c.box.name: float(o[0]) for c, o in zip(calls, outputs, strict=True)}

    def _program(self, names: frozenset[str]) -> Program:
        """Every variable of the system, once those of some names are set."""
        if names not in self._programs:
            calls = self._model.program.calls
            nodes = {c.box.name: self._model.program.nodes[c.node].expression for c in calls}
            # Only searches use bounds; a run accepts any value.
            set_to: dict[Expression, Variable] = {
                node: Variable(name, lower=-1, upper=1)
                for name, node in nodes.items()
                if name in names
            }
            variables = (*self._model.variables, *set_to.values())
            self._programs[names] = Program(substitute([*nodes.values()], set_to), variables)
        return self._programs[names]


@dataclass(frozen=True, slots=True)
class Trials:
    """What a trial does to a system.

    Attributes:
        system: One run.
        nodes: Every variable of the system.
        names: The variables that a trial is given, in order.
        targets: For each intervention set, the variables of the system that it sets.
        own: The model's own variables, which every set sets.
        runs: How many runs a trial makes.
    """

    system: System
    nodes: tuple[str, ...]
    names: tuple[str, ...]
    targets: tuple[tuple[str, ...], ...]
    own: tuple[str, ...]
    runs: int


class Runs:
    """The black box of a problem over interventions: performs the runs of one trial.

    The generator of a trial comes from the seed, the number of trials performed before in this
    process and the design point, so that repeated points are disturbed anew and a script with a
    seed repeats itself. A copy in another process has no seed, so that it does not repeat the
    disturbances of this one.

    Args:
        trials: What a trial does.
        seed: Where randomness comes from; None for the operating system, anew in every process,
            so that a study that is resumed does not repeat its disturbances.
    """

    def __init__(self, trials: Trials, seed: int | None) -> None:
        self._trials = trials
        self._entropy = secrets.randbits(128) if seed is None else seed
        self._performed = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Runs, (self._trials, None)

    def __call__(self, *values: Any) -> Array:
        """The variables of the system in every run, run by run, (runs * nodes,)."""
        trials = self._trials
        given = dict(zip(trials.names, values, strict=True))
        number = set_number(given.get(INTERVENTION), len(trials.targets))
        wanted = {name: given[name] for name in (*trials.targets[number], *trials.own)}
        point = np.concatenate([np.ravel(v) for v in values]).astype(np.float64)
        words = np.frombuffer(point.tobytes(), dtype=np.uint32).tolist()
        generator = np.random.default_rng([self._entropy, self._performed, *words])
        self._performed += 1
        answers: list[float] = []
        for _ in range(trials.runs):
            answer = trials.system(dict(wanted), generator)
            if not isinstance(answer, Mapping):
                raise EvaluationError(
                    f"the system returned {shortened(answer)}: return a dictionary of every "
                    "variable" + (" (does it lack a return statement?)" if answer is None else "")
                )
            seen = {**answer, **wanted}
            missing = [name for name in trials.nodes if name not in seen]
            if missing:
                raise EvaluationError(
                    f"the system returned values for {', '.join(map(repr, answer))}, but none for "
                    f"{missing[0]!r}: return every variable of the system"
                )
            answers += [_number(name, seen[name]) for name in trials.nodes]
        return np.array(answers)


def _number(name: str, value: Any) -> float:
    """The value of a variable of the system in one run, checked."""
    try:
        array = real_numbers(value)
    except (TypeError, ValueError, RuntimeError):  # the last is PyTorch's
        array = np.full(1, np.nan)
    if array.size != 1 or not np.isfinite(array).all():
        raise EvaluationError(
            f"the system returned {shortened(value)} for {name!r}: every variable must be a "
            "finite number"
        )
    return float(array.item())
