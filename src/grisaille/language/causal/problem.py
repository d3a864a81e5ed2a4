"""Building the problem over interventions from a causal model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import (
    attribute_of,
    check_count,
    check_seed,
    first_strange,
    real_numbers,
    tuple_of,
)
from grisaille.errors import ModelError, counted, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.causal.do_operator import Do, intervene, misfit, natural_reads, substitute
from grisaille.language.causal.model import SYSTEM, CausalModel
from grisaille.language.causal.system import INTERVENTION, Runs, Simulation, System, Trials
from grisaille.language.constraint import Constraint
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem, rewritten
from grisaille.language.program import Program
from grisaille.language.text import labelled
from grisaille.language.variable import Variable


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
