"""All answers of black boxes as a table, with the ids to correct or retract them by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grisaille.language.black_box import BlackBox
from grisaille.language.input_names import input_names
from grisaille.language.problem import Problem
from grisaille.study.state import StudyState
from grisaille.study.trials_and_queries import probe_of

if TYPE_CHECKING:
    import pandas


def answers_table(
    problem: Problem, boxes: Sequence[BlackBox], state: StudyState
) -> pandas.DataFrame:
    """One row per answer: id, box, trial, source, then inputs and outputs by name.

    The source is "chain", "probe" for an answer apart from the real chain, or "elsewhere".
    """
    import pandas

    names = {box.name: (input_names(problem, box), output_names(box)) for box in boxes}
    rows: list[dict[str, Any]] = []

    def add(name: str, trial: int | None, source: str, seen: Any) -> None:
        if seen.box in names:
            inputs, outputs = names[seen.box]
            row = {"id": name, "box": seen.box, "trial": trial, "source": source}
            row.update(zip(inputs, state.readable_inputs(seen.box, seen.inputs), strict=True))
            row.update(zip(outputs, seen.outputs.tolist(), strict=True))
            rows.append(row)

    for entry in state.trials.values():
        for query in entry.told:
            source = "chain" if probe_of(query) is None else "probe"
            add(query.id, entry.number, source, query)
    made = {row: entry.number for entry in state.trials.values() for row in entry.rows}
    for name, seen in state.rows().items():
        add(name, made.get(name), "elsewhere", seen)
    table = pandas.DataFrame(rows, columns=None if rows else ["id", "box", "trial", "source"])
    return table.astype({"trial": "Int64"})


def output_names(box: BlackBox) -> list[str]:
    """What the outputs of a black box are called, in tables and on paper."""
    if box.output_names:
        return list(box.output_names)
    if box.outputs == 1:
        return [box.name]
    return [f"{box.name}[{place}]" for place in range(box.outputs)]
