"""The choice of the evaluations of a trial that are worth their cost.

The bounds on regret add up A_i beta_i sigma_i(s̄_i) over the black boxes (Lemma discrepancy_bound):
what trial t can be wrong by, box by box. Where evaluations cost the same, all are made. Where they
do not, the part of each box is measured at the optimum, as how much of the promise goes when its
band is replaced by its mean, and boxes that tell much less for their cost than another are left
out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.learning import accepted
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.language.problem import Problem
from grisaille.records import History, Probe, Situation, Suggestion
from grisaille.strategies.initial_design import Initial, initial_points, initial_suggestion
from grisaille.strategies.plan import Plan
from grisaille.strategies.practical.gap import is_closing

# An evaluation is left out when another one tells this many times as much for its cost.
_MUCH_MORE = 2.0


def costs_differ(problem: Problem) -> bool:
    """Whether some black box costs more than another."""
    return len({box.cost for box in problem.boxes}) > 1


def still_initial_by_box(situation: Situation, initial: Initial, learned: Collection[str]) -> bool:
    """Whether a black box has too few observations to learn its hyper-parameters from.

    Args:
        situation: The situation.
        initial: The initial design that was asked for; None for the usual number of points.
        learned: Names of the black boxes whose hyper-parameters are learned.
    """
    wanted = initial_points(situation, initial)
    return any(_lacks_data(situation, name, wanted) for name in learned)


def cheapest_initial(situation: Situation, initial: Initial) -> Suggestion:
    """A point of the initial design, without boxes that know enough for a start.

    Boxes further down need the whole chain; once they have as many observations as their own number
    of inputs asks for, only those of the first layer are evaluated.
    """
    suggestion = initial_suggestion(situation, initial)
    wanted = initial_points(situation, initial)
    problem = situation.problem
    deep = {call.box.name: call.box for call in problem.program.calls if not call.first_layer}
    if any(_lacks_data(situation, name, wanted) for name in deep):
        return suggestion
    states = problem.program.first_states(suggestion.x)
    lacking = {
        call: state
        for call, state in states.items()
        if _lacks_data(situation, problem.program.calls[call].box.name, wanted)
    }
    probes = tuple(Probe(call, state) for call, state in lacking.items())
    return replace(suggestion, chain=False, probes=probes) if probes else suggestion


def _lacks_data(situation: Situation, name: str, wanted: int) -> bool:
    """Whether a black box has fewer observations than 2 (d + 1), or than the initial design."""
    box = next(b for b in situation.problem.boxes if b.name == name)
    seen = sum(o.box == name for o in situation.history.observations())
    return seen < min(wanted, 2 * (box.inputs + 1))


def leave_out_expensive(plan: Plan, knowledge: Knowledge) -> Plan:
    """Make only those evaluations that tell enough for their cost."""
    situation = knowledge.situation
    if not costs_differ(situation.problem) or not len(knowledge.history) or is_closing(situation):
        return plan
    calls = knowledge.program.calls
    told = worth(plan.plausible, plan.solution.point, knowledge.history)
    value = told / [call.box.cost for call in calls]
    best = float(value.max())
    if not best > 0:
        return plan
    chosen = [i for i in range(len(calls)) if value[i] * _MUCH_MORE >= best]
    alone = [
        calls[i].first_layer or (calls[i].box.separable and situation.evaluation == "separate")
        for i in chosen
    ]
    if len(chosen) == len(calls) or not all(alone):
        return plan
    states = plan.states
    for number, state in knowledge.program.first_states(plan.x).items():  # as they are tried
        states[number] = accepted(calls[number].box, torch.tensor(state).unsqueeze(0))[0].numpy()
    probes = tuple(Probe(i, states[i]) for i in chosen)
    return replace(plan, suggestion=replace(plan.suggestion, chain=False, probes=probes))


def worth(plausible: PlausibleSet, point: Tensor, history: History) -> Array:
    """How much of the promise rests on each call's band, in spreads of what was seen, (calls,).

    For each call, the largest rise of the objective or a constraint when its eta goes to 0.
    """
    program = plausible.program
    own = plausible.controls.columns
    eta_of = [slice(program.size + c.start, program.size + c.stop) for c in own]
    points = point.repeat(1 + len(eta_of), 1)
    for row, columns in enumerate(eta_of, 1):
        points[row, columns] = 0.0
    with torch.no_grad():
        objective, constraints = plausible.evaluate(points)
    values = torch.cat([objective.unsqueeze(1), constraints], 1).numpy()
    seen = np.array([[t.objective, *t.constraints] for t in history]).reshape(
        len(history), values.shape[1]
    )
    spread = np.nan_to_num(seen, posinf=0, neginf=0).std(0) if len(seen) else np.zeros(1)
    spread = np.where(spread > 0, spread, 1.0)
    rise = np.nan_to_num((values[1:] - values[0]) / spread)
    return np.asarray(np.clip(rise, 0, None).max(1))


def stay_within_budget(plan: Plan, knowledge: Knowledge) -> Plan:
    """Leave out the probes if they would cost more than is left."""
    problem, budget = knowledge.situation.problem, knowledge.situation.budget
    if budget is None or not plan.suggestion.chain:
        return plan
    probes = sum(problem.program.calls[p.call].box.cost for p in plan.suggestion.probes)
    if problem.chain_cost + probes <= budget:
        return plan
    return replace(plan, suggestion=replace(plan.suggestion, probes=()))
