"""Optimization over interventions, as an ordinary problem with one black box: the system.

A trial sets the variables of one intervention set and lets the system run; the system answers
with every variable, run by run. This module turns trials and observational data into data of each
mechanism, and lists the intervention sets that are worth a trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import tuple_of
from grisaille.errors import ModelError, shortened
from grisaille.language.causal.do_operator import Do, intervene, natural_reads
from grisaille.language.causal.system import INTERVENTION, set_number
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program
from grisaille.language.variable import Variable

# --- model ----------------------------------------------------------------------------------------

Rows = Mapping[str, Array]
"""Joint observations: the values of each variable of the system by name, (n,); of the model's own
variables (n, entries)."""

MechanismData = tuple[str, Array, Array]
"""Name of a mechanism, inputs (n, d) and outputs (n, 1)."""

SYSTEM = "system"
"""Name of the black box that stands for the real system."""


@dataclass(frozen=True, eq=False)
class CausalModel:
    """The causal model behind a problem over interventions.

    Attributes:
        model: Objective and constraints in terms of mechanisms, without intervention.
        sets: The intervention sets; an empty one means that the system is only observed.
        runs: How often the system runs in one trial.
        observations: Observational data: joint rows by name; arrays of length 0 if there are none.
        nodes: The variables of the system, causes before effects.
        variables: The variables of the problem over interventions, in its order.
    """

    model: Problem
    sets: tuple[tuple[Do, ...], ...]
    runs: int
    observations: Rows
    nodes: tuple[str, ...]
    variables: tuple[Variable, ...]
    _problems: tuple[Problem, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        problems = tuple(intervene(self.model, *dos) if dos else self.model for dos in self.sets)
        object.__setattr__(self, "_problems", problems)

    def intervened(self, number: int) -> Problem:
        """The model under the intervention set of that number; the model itself if it is empty."""
        return self._problems[number]

    def read(self, x: Array) -> tuple[int, Array]:
        """Number of the set of a flat design point, and its point of `intervened(number)`."""
        number = set_number(_by_variable(self.variables, x).get(INTERVENTION), len(self.sets))
        return number, self.under(number, x)

    def under(self, number: int, x: Array) -> Array:
        """The entries of a design point that belong to a set, as a flat point of that set."""
        values = _by_variable(self.variables, x)
        wanted = self.intervened(number).variables
        return np.concatenate([np.zeros(0), *(values[v.name] for v in wanted)])

    def design(self, number: int, values: Array) -> Array:
        """The inverse of `read`: entries outside the set are in mid-range."""
        known = {v.name: (v.lower.ravel() + v.upper.ravel()) / 2 for v in self.variables}
        known[INTERVENTION] = np.array([float(number)])
        known |= _by_variable(self.intervened(number).variables, values)
        return np.concatenate([known[v.name] for v in self.variables])

    def describe(self, x: Array) -> dict[str, float]:
        """What a design point sets: the value of each target of its set, by name."""
        values = _by_variable(self.variables, x)
        return {d.name: float(values[d.name][0]) for d in self.sets[self.read(x)[0]]}

    def runs_of(self, outputs: Array) -> dict[str, Array]:
        """What the system answered in a trial: the values of each variable, (runs,), by name."""
        table = np.asarray(outputs).reshape(self.runs, len(self.nodes))
        return {name: table[:, column] for column, name in enumerate(self.nodes)}

    def rows(self, x: Array, outputs: Array) -> dict[str, Array]:
        """The runs of a trial, with the model's own variables as they were set in all of them."""
        values = _by_variable(self.variables, x)
        own = {v.name: np.tile(values[v.name], (self.runs, 1)) for v in self.model.variables}
        return {**self.runs_of(outputs), **own}

    def mechanism_data(self, number: int, rows: Rows) -> tuple[MechanismData, ...]:
        """Data of mechanisms from joint rows, for each mechanism that the rows say something about.

        The inputs of a mechanism are its argument expressions at the values of the row. Rows say
        nothing about the mechanism of a variable that was set, nor about one that reads the
        natural value of such a variable.

        Args:
            number: The intervention set that the rows were made under.
            rows: Values by name; those of the model's own variables, if it has any, too.
        """
        return self._read_off(frozenset(d.name for d in self.sets[number]), rows)

    def tells(self, number: int, name: str) -> bool:
        """Whether rows made under a set say something about the mechanism of a variable."""
        names = frozenset(d.name for d in self.sets[number])
        call = next(c for c in self.model.program.calls if c.box.name == name)
        return name not in names and names.isdisjoint(natural_reads(call.arguments))

    def observed(self) -> tuple[MechanismData, ...]:
        """Data of mechanisms from the observational data; empty if there are none."""
        empty = not len(next(iter(self.observations.values())))
        return () if empty else self._read_off(frozenset(), self.observations)

    def _read_off(self, set_names: frozenset[str], rows: Rows) -> tuple[MechanismData, ...]:
        count = len(rows[self.nodes[0]])
        own = [np.asarray(rows[v.name]).reshape(count, -1) for v in self.model.variables]
        design = torch.tensor(np.concatenate([np.zeros((count, 0)), *own], axis=1))

        def resolve(call: BoxCall, _states: Tensor) -> Tensor:
            return torch.tensor(np.asarray(rows[call.box.name], dtype=float)).unsqueeze(1)

        found: list[MechanismData] = []
        for call in self.model.program.calls:
            name = call.box.name
            if name in set_names or not set_names.isdisjoint(natural_reads(call.arguments)):
                continue
            with torch.no_grad():
                parts = Program(call.arguments, self.model.variables).run(design, resolve)
            flat = [p.numpy().reshape(count, -1) for p in parts]
            inputs = np.concatenate([np.zeros((count, 0)), *flat], axis=1)
            outputs = np.array(rows[name], dtype=float).reshape(-1, 1)
            usable = np.isfinite(inputs).all(1)  # a known part may have no value somewhere
            found.append((name, inputs[usable], outputs[usable]))
        return tuple(found)


def _by_variable(variables: Sequence[Variable], x: Array) -> dict[str, Array]:
    """A flat point as the values of each variable by name."""
    ends = np.cumsum([0, *(v.size for v in variables)])
    point = np.asarray(x, dtype=float)
    return {v.name: point[end - v.size : end] for v, end in zip(variables, ends[1:], strict=True)}


# --- intervention sets ----------------------------------------------------------------------------
# Sets of interventions that are worth a try.


def minimal_interventions(model: Problem, dos: Sequence[Do]) -> list[tuple[Do, ...]]:
    """All minimal sets of interventions, the smallest first.

    A set is minimal when each of its variables still reaches the objective or a constraint while
    the others are set: X_s is part of the ancestors of Y in the graph without the arrows into X_s
    (Lee and Bareinboim 2018, "Structural causal bandits: where to intervene?"). Pass them
    to `causal_problem` if nothing else is known. Hidden common causes can make some of them
    needless; this is not checked.

    Args:
        model: Objective and constraints in terms of mechanisms.
        dos: The interventions that can be made. There are 2^n - 1 sets of n of them.
    """
    if not isinstance(dos, Iterable):
        raise ModelError(
            f"minimal_interventions: dos is {shortened(dos)}: pass a list of what gs.do(...) "
            "gives, even of one"
        )
    dos = tuple_of("minimal_interventions: dos", dos)
    for do in dos:
        if not isinstance(do, Do):
            raise ModelError(
                f"minimal_interventions: {shortened(do)} is no intervention: pass what "
                "gs.do(...) gives"
            )
    sizes = range(1, len(dos) + 1)
    sets = [members for size in sizes for members in combinations(dos, size)]
    return [members for members in sets if _still_read(intervene(model, *members), members)]


def distinct_sets(causal: CausalModel) -> list[int]:
    """Numbers of the sets that differ in effect; of several equal ones, the smallest.

    Two sets are equal if the same of their variables are still read. A set without effect is left
    out, like the empty set.
    """
    chosen: dict[frozenset[str], int] = {}
    for number in sorted(range(len(causal.sets)), key=lambda n: len(causal.sets[n])):
        read = frozenset(v.name for v in causal.intervened(number).variables)
        if read:
            chosen.setdefault(read, number)
    return sorted(chosen.values())


def _still_read(problem: Problem, members: Sequence[Do]) -> bool:
    read = set(problem.variables)
    return all(member.variable in read for member in members)
