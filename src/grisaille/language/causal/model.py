"""Optimization over interventions, as an ordinary problem with one black box: the system.

A trial sets the variables of one intervention set and lets the system run; the system answers
with every variable, run by run. The system is real, or simulated from its mechanisms. This module
turns trials and observational data into data of each mechanism, lists the intervention sets that
are worth a trial, and builds the problem over them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import (
    attribute_of,
    check_count,
    check_seed,
    first_strange,
    real_numbers,
    tuple_of,
)
from grisaille.errors import EvaluationError, ModelError, counted, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.causal.do_operator import Do, intervene, misfit, natural_reads, substitute
from grisaille.language.expression import Constraint, Expression
from grisaille.language.problem import Problem, rewritten
from grisaille.language.program import BoxCall, Program
from grisaille.language.text import labelled
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


# --- problem over interventions -------------------------------------------------------------------


def causal_problem(
    model: Problem,
    interventions: Sequence[Do | Sequence[Do]],
    *,
    system: System | None = None,
    runs: int = 1,
    observations: Any = None,
    seed: int | None = None,
) -> Problem:
    """The optimization over interventions: minimize E[objective | do(X_s = x_s)] over s and x_s.

    The result is an ordinary problem. Its variables are `intervention`, the number of the set, if
    there are several, one for each target, and the model's own; those that are not part of the set
    are ignored. Its black box, `system`, runs the system and answers with all its variables, run by
    run. Its objective and constraints are those of the model, averaged over the runs.

    Args:
        model: Objective and constraints in terms of `exogenous` variables and calls of black boxes
            with process noise. `Variable`s of its own are chosen in every set.
        interventions: The sets to choose from: each what `do` gives, or a list of these; an empty
            list only observes.
        system: One run of the real system, `(values, generator) -> values`: what is set, by name,
            to every variable of the system, by name. By default it is simulated: each box's
            function is then its mechanism without the disturbance, and a normal disturbance of
            standard deviation `noise` is added, within the box's `lower` and `upper`.
        runs: How often the system runs in one trial.
        observations: Observational data, joint rows: a dictionary of columns or a DataFrame, with a
            column for every variable of the system, and for the model's own variables.
        seed: Where the generator of the runs comes from: with a number, one process repeats itself
            when it is started again, and so does a study that is resumed. By default, and in
            worker processes always, disturbances are new in every process.
    """
    if not isinstance(model, Problem):
        raise ModelError(f"causal_problem({shortened(model)}, ...): pass a gs.Problem")
    check_count("causal_problem", "runs", runs)
    check_seed("causal_problem", "seed", seed, optional=True)
    if system is not None:
        _check_system(system)
    _check_model(model)
    sets = _sets(model, interventions)
    nodes = tuple(call.box.name for call in model.program.calls)
    variables: list[Variable] = []
    if len(sets) > 1:
        # Each set has a share of equal width, so that random points choose all sets equally often.
        variables.append(Variable(INTERVENTION, lower=-0.5, upper=len(sets) - 0.5))
    variables += {d.name: d.variable for dos in sets for d in dos}.values()
    variables += model.variables
    if not variables:
        raise ModelError(
            "causal_problem: there is nothing to choose, because no set sets a variable and the "
            "model has none: pass gs.do(...) of a variable of the system"
        )
    targets = tuple(tuple(d.name for d in dos) for dos in sets)
    own = tuple(v.name for v in model.variables)
    performed = Simulation(model) if system is None else system

    def build(order: Sequence[Variable], causal: CausalModel | None = None) -> Problem:
        names = tuple(v.name for v in order)
        trials = Trials(performed, nodes, names, targets, own, int(runs))
        box = BlackBox(Runs(trials, seed), name=SYSTEM, outputs=int(runs) * len(nodes))
        objective, constraints = _averaged(model, box(*order), int(runs))
        return rewritten(model, objective, constraints, causal)

    # The system takes its arguments in the order of a design point, which the formulas decide.
    order = build(variables).variables
    rows = _rows(model, nodes, observations)
    causal = CausalModel(model, sets, int(runs), rows, nodes, order)
    _check_natural(causal)
    return build(order, causal)


def _averaged(
    model: Problem, answers: Expression, runs: int
) -> tuple[Expression, list[Constraint]]:
    """The model's objective and constraints, averaged over the runs that a trial makes."""
    nodes = [model.program.nodes[call.node].expression for call in model.program.calls]
    flat = answers.reshape(-1) if answers.shape else answers.reshape(1)

    def average(part: Expression) -> Expression:
        if not Program([part]).calls:
            return part
        compiled = Program([*nodes, part])
        positions = [compiled.position[node] for node in nodes]
        if compiled.position[part] in positions:
            return flat[positions.index(compiled.position[part]) :: len(nodes)].mean()
        each: list[Expression] = []
        for run in range(runs):
            seen = {node: flat[run * len(nodes) + c] for c, node in enumerate(nodes)}
            each += substitute([part], seen)
        return np.stack(each).mean(0)  # type: ignore[no-any-return]

    def expected(part: Expression) -> Expression:
        return labelled(average(part), part.name, part.unit)

    constraints = [
        c.replaced(left=expected(c.left), right=expected(c.right)) for c in model.constraints
    ]
    return expected(model.objective), constraints


def _sets(model: Problem, given: Sequence[Do | Sequence[Do]]) -> tuple[tuple[Do, ...], ...]:
    """The sets; a target has the same variable in all of them."""
    several = isinstance(given, Iterable)
    groups = tuple_of("causal_problem: interventions", given) if several else ()
    if not groups:
        raise ModelError(
            f"causal_problem: interventions is {shortened(given)}: pass a list of sets, each "
            "gs.do(...) or a list of these"
        )
    known: dict[str, Do] = {}
    sets: list[tuple[Do, ...]] = []
    for number, group in enumerate(groups):
        single = isinstance(group, Do) or not isinstance(group, Iterable)
        members = (group,) if single else tuple_of(f"causal_problem: set {number}", group)
        for member in members:
            if not isinstance(member, Do):
                raise ModelError(
                    f"causal_problem: set {number} holds {shortened(member)}: pass what "
                    "gs.do(...) gives"
                )
            first = known.setdefault(member.name, member).variable
            ends = [(float(v.lower), float(v.upper)) for v in (first, member.variable)]
            if ends[0] != ends[1]:
                raise ModelError(
                    f"causal_problem: {member.name!r} is set between {ends[0][0]:g} and "
                    f"{ends[0][1]:g} in one set and between {ends[1][0]:g} and {ends[1][1]:g} in "
                    f"set {number}: use one range"
                )
        sets.append(tuple(known[m.name] for m in members))
        intervene(model, *sets[-1])  # checks that all targets are part of the model
    return tuple(sets)


def _check_system(system: Any) -> None:
    takes = "pass a function (values, generator) -> values, which performs one run"
    if not callable(system):
        raise ModelError(f"causal_problem(system={shortened(system)}): {takes}")
    complaint = misfit(system, {}, np.random.default_rng(0))
    if complaint:
        raise ModelError(f"causal_problem: system is {complaint}: {takes}")


def _check_model(model: Problem) -> None:
    if not model.boxes:
        raise ModelError("causal_problem: the model has no black box, so there is no system")
    seen: set[str] = set()
    for call in model.program.calls:
        name = call.box.name
        if name in seen:
            raise ModelError(
                f"causal_problem: black box {name!r} is called twice in the model: each variable "
                "of a system has a mechanism of its own"
            )
        seen.add(name)
        if call.box.outputs != 1:
            raise ModelError(
                f"causal_problem: black box {name!r} has {call.box.outputs} outputs: a variable of "
                "a system is one number; declare a black box for each"
            )
        if call.box.timeout is not None:
            raise ModelError(
                f"causal_problem: black box {name!r} has timeout={call.box.timeout:g}: the system "
                "runs as a whole, so that no mechanism is given up by itself; leave timeout= out, "
                "and limit the time within the function"
            )
        if not call.box.process_noise and not call.box.is_exact:
            raise ModelError(
                f"causal_problem: black box {name!r} has observation noise: in a causal model "
                "noise acts on what lies downstream; declare process_noise=True, or noise=0"
            )
    for variable in model.variables:
        if variable.step is not None or variable.log:
            what = "log=True" if variable.step is None else "step="
            what = f"is a {type(variable).__name__}" if variable.is_whole else f"has {what}"
            raise ModelError(
                f"causal_problem: the model's variable {variable.name!r} {what}, which problems "
                "over interventions do not know: leave it out"
            )
        if variable.name in seen or variable.name == INTERVENTION:
            raise ModelError(
                f"causal_problem: the model's variable {variable.name!r} has the name of something "
                "else: give it another"
            )
    for part in (model.objective, *(c.body for c in model.constraints)):
        if natural_reads((part,)):
            raise ModelError(
                f"causal_problem: {part!r} reads natural(...), which a system under intervention "
                "does not show: only mechanisms can read it"
            )


def _check_natural(causal: CausalModel) -> None:
    """Raise ModelError if a set makes a natural value unknown by setting one of its causes."""
    calls = causal.model.program.calls
    causes = {c.box.name: {calls[u].box.name for u in c.upstream} for c in calls}
    read = {name for c in calls for name in natural_reads(c.arguments)}
    for number, dos in enumerate(causal.sets):
        for member in dos:
            for name in sorted(read):
                if member.name in causes[name]:
                    raise ModelError(
                        f"causal_problem: set {number} sets {member.name!r}, a cause of {name!r}, "
                        f"of which the model reads natural({name}): its effect cannot be told from "
                        f"what is observed; leave {member.name!r} out of the sets"
                    )


def _rows(model: Problem, nodes: Sequence[str], given: Any) -> dict[str, Array]:
    """Observational data by name, checked."""
    own = {v.name: v for v in model.variables}
    if given is None:
        empty = {name: np.zeros((0, v.size)) for name, v in own.items()}
        return {**{name: np.zeros(0) for name in nodes}, **empty}
    names = given if isinstance(given, Mapping) else attribute_of(given, "columns")
    if names is None:
        raise ModelError(
            f"causal_problem: observations are a {type(given).__name__}: pass a dictionary of "
            "columns or a DataFrame; pandas.DataFrame(...) makes one from a list of rows, "
            "pandas.read_csv(...) from a file"
        )
    columns = {name: given[name] for name in names}
    count = 0
    rows: dict[str, Array] = {}
    for name in (*nodes, *own):
        if name not in columns:
            raise ModelError(
                f"causal_problem: observations have no column {name!r}: every variable of the "
                f"system is needed, and they have {', '.join(map(repr, columns)) or 'none'}"
            )
        column = _column(name, columns[name])
        count = count if rows else len(column)
        size = own[name].size if name in own else 1
        # A model's own variable may have any shape; one of the system is a number in each row.
        fits = column.size == count * size if name in own else column.ndim == 1
        if len(column) != count or not fits:
            raise ModelError(
                f"causal_problem: observations have a column {name!r} of shape {column.shape}: "
                f"pass {count} rows, as many as for {nodes[0]!r}, of "
                f"{counted(size, 'number')} each"
            )
        rows[name] = column.reshape(count, size) if name in own else column
    return rows


def _column(name: str, given: Any) -> Array:
    """The finite numbers of a column."""
    where = f"causal_problem: observations have a column {name!r}"
    try:
        column = real_numbers(given)
    except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
        strange = shortened(first_strange(given))
        raise ModelError(f"{where} that holds {strange}: pass numbers") from error
    if column.ndim == 0:
        raise ModelError(f"{where} that is one number, {column:g}: pass a list, one for each row")
    wrong = np.argwhere(~np.isfinite(column))
    if len(wrong):
        value = "NaN" if np.isnan(column[tuple(wrong[0])]) else "an infinite number"
        raise ModelError(
            f"{where} with {value} in row {wrong[0][0]}: every number must be finite; leave rows "
            "out in which a variable was not seen"
        )
    return column
