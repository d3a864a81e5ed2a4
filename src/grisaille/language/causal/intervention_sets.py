"""Which sets of interventions are worth a try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from grisaille.checks import tuple_of
from grisaille.errors import ModelError, shortened
from grisaille.language.causal.do_operator import Do, intervene
from grisaille.language.causal.model import CausalModel
from grisaille.language.problem import Problem


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
