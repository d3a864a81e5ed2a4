"""Names for the answers of the black boxes along the chain."""

from __future__ import annotations

from collections import Counter

from grisaille.errors import ModelError
from grisaille.language.problem import Problem


def name_calls(problem: Problem, entries: list[str]) -> list[list[str]]:
    """Names for the outputs of each call, in the order of the chain.

    One output is called like its box, `h`; several `h[0]`, `h[1]`, or by their own names. A box
    that is called several times counts its calls in the order of the chain: `h#1`, `h#2`;
    `h#1[0]`; `yield#1`. An output's own name that is taken gets its box in front: `h.yield`.

    Args:
        problem: The problem.
        entries: Names of the design entries, which are taken.

    Raises:
        ModelError: Two things have the same name.
    """
    calls = [call.box for call in problem.program.calls]
    uses = Counter(box.name for box in calls)
    outputs = Counter(name for box in problem.boxes for name in box.output_names)
    plain = {box.name for box in problem.boxes if not box.output_names}
    taken = {*entries, *plain, *(name for name, count in outputs.items() if count > 1)}
    made: list[list[str]] = []
    for number, box in enumerate(calls):
        use = sum(earlier is box for earlier in calls[: number + 1])
        mark = f"#{use}" if uses[box.name] > 1 else ""
        if box.output_names:
            names = [n if n not in taken else f"{box.name}.{n}" for n in box.output_names]
            names = [f"{n}{mark}" for n in names]
        elif box.outputs == 1:
            names = [f"{box.name}{mark}"]
        else:
            names = [f"{box.name}{mark}[{i}]" for i in range(box.outputs)]
        made.append(names)
    counts = Counter(["_id", *entries, *(name for names in made for name in names)])
    for box, names in zip(calls, made, strict=True):
        for name in names:
            if counts[name] > 1:
                raise ModelError(
                    f"{name!r} would be an answer of black box {box.name!r} and something else, "
                    "such as a variable: give the black box or its output another name"
                )
    return made
