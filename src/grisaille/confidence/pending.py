"""Pending trials, as if each of their evaluations had come out as predicted.

A predicted answer equals the posterior mean: it leaves the mean where it is and narrows the band as
the real answer will, so that the next suggestion goes elsewhere (Desautels, Krause and Burdick
2014, batched upper confidence bounds). Such bands are for choosing where to go; they are too narrow
to bound anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from grisaille.confidence.bands import predicted
from grisaille.confidence.beliefs import Beliefs
from grisaille.confidence.declared_intervals import DeclaredInterval
from grisaille.language.program import BoxCall, Program
from grisaille.records import Pending


def with_pending(
    program: Program,
    beliefs: Beliefs,
    pending: Iterable[Pending],
    intervals: Mapping[str, DeclaredInterval] | None = None,
) -> Beliefs:
    """Beliefs once pending trials have come out as `beliefs` predict.

    Args:
        program: Objective and constraints.
        beliefs: A surrogate for each black box, after all answers.
        pending: The pending trials.
        intervals: What declarations and answers leave to the black boxes whose bands they cut.
    """
    updated = dict(beliefs)
    for trial in pending:
        for box, state in _unanswered(program, beliefs, trial, intervals or {}):
            updated[box] = updated[box].with_predicted(state)
    return updated


def _unanswered(
    program: Program, beliefs: Beliefs, trial: Pending, intervals: Mapping[str, DeclaredInterval]
) -> list[tuple[str, Tensor]]:
    """Every box that will be evaluated, and where: for deep calls, where it is predicted to be."""
    places = [(program.calls[p.call].box.name, torch.tensor(p.inputs)) for p in trial.probes]
    if not trial.suggestion.chain:
        return places
    position = {id(call): number for number, call in enumerate(program.calls)}

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        answer = trial.answers.get(position[id(call)])
        if answer is not None:
            return torch.tensor(answer).unsqueeze(0)
        if torch.isfinite(states).all():
            places.append((call.box.name, states[0]))
        name = call.box.name
        return predicted(beliefs[name], call, states, intervals.get(name))

    with torch.no_grad():
        program.run(torch.tensor(trial.suggestion.x).unsqueeze(0), resolve)
    return places
