"""What trials over interventions say about the mechanisms."""

from __future__ import annotations

from grisaille.language.causal.model import SYSTEM, CausalModel
from grisaille.records import History, Observation


def mechanism_history(causal: CausalModel, history: History) -> History:
    """The history as answers of the mechanisms: observational rows first, then all runs.

    Args:
        causal: What the problem over interventions is about.
        history: The trials of that problem.
    """
    data = list(causal.observed())
    for answer in history.observations():
        if answer.box == SYSTEM:
            number, _ = causal.read(answer.inputs)
            data += causal.mechanism_data(number, causal.rows(answer.inputs, answer.outputs))
    return History(
        loose=tuple(
            Observation(name, row, value)
            for name, inputs, outputs in data
            for row, value in zip(inputs, outputs, strict=True)
        )
    )
