"""Trials under way, as if each of their evaluations had come out as predicted.

A hallucinated answer equals the posterior mean: it leaves the mean where it is and narrows the band
as the real answer will, so that the next suggestion goes elsewhere (Desautels, Krause and Burdick
2014, batched upper confidence bounds). Such bands are for choosing where to go; they are too narrow
to bound anything.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.language.program import BoxCall
from grisaille.records import Pending


def hallucinated(plausible: PlausibleSet, pending: Iterable[Pending]) -> PlausibleSet:
    """The plausible set once trials under way have come out as predicted."""
    beliefs = dict(plausible.beliefs)
    for trial in pending:
        for box, state in _unanswered(plausible, trial):
            beliefs[box] = beliefs[box].hallucinated(state)
    return PlausibleSet(plausible.program, beliefs, plausible.beta)


def _unanswered(plausible: PlausibleSet, trial: Pending) -> list[tuple[str, Tensor]]:
    """Every box that will be evaluated, and where: for deep calls, where it is predicted to be."""
    program = plausible.program
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
        return plausible.predicted(call, states)

    with torch.no_grad():
        program.run(torch.tensor(trial.suggestion.x).unsqueeze(0), resolve)
    return places
