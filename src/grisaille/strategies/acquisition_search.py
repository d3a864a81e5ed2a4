"""The search for the design point of least acquisition, shared by several strategies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.design_problem import design_problem
from grisaille.belief.knowledge import Knowledge
from grisaille.records import History, taken_designs
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import Evaluate, SearchProblem, Solution
from grisaille.search.steps import settle

# Local searches and points to start them from, per design variable: the effort of the publications
# on EI-CF and EI-FN.
_STARTS = 10
_SAMPLES = 100


@dataclass(frozen=True, slots=True)
class FoundDesign:
    """The design point of least acquisition.

    Attributes:
        x: The point to try, on the steps of its variables.
        solution: The best point between the bounds, as the search found it.
    """

    x: Array
    solution: Solution

    @property
    def least(self) -> float | None:
        """The acquisition at the best point between the bounds; None if that is not feasible."""
        return self.solution.value if self.solution.feasible else None


def search_designs(knowledge: Knowledge, evaluate: Evaluate) -> FoundDesign:
    """The design point of least acquisition, away from where black boxes failed.

    Args:
        knowledge: What is known; the incumbent is one of the starts.
        evaluate: Acquisition, minimized, and constraints of design points (batch, n).
    """
    program, incumbent = knowledge.program, knowledge.incumbent
    problem = design_problem(program, evaluate)
    if knowledge.failures is not None:
        problem = knowledge.failures.avoided_in(problem, knowledge.plausible)
    hints: Tensor = problem.lower.new_zeros(0, program.size)
    if incumbent is not None:
        best = torch.tensor(knowledge.history.trials[incumbent.position].x).unsqueeze(0)
        hints = program.space.to_search(best)
    # Averages and quantiles of draws have many kinks.
    effort = MultiStart(_STARTS * program.size, _SAMPLES * program.size, again=False, polish=False)
    solution = effort.solve(problem, hints, knowledge.situation.trial_seed)
    chosen = settled(problem, solution, knowledge)
    return FoundDesign(program.space.to_try(chosen.point), solution)


def settled(problem: SearchProblem, solution: Solution, knowledge: Knowledge) -> Solution:
    """Return the best point near a solution that may be tried.

    Where answers are exact, a design point that is taken is chosen only if nothing else is near.

    Args:
        problem: What was searched; its points start with a design point.
        solution: The best point between the bounds.
        knowledge: What is known.
    """
    taken = taken_designs(knowledge.situation) if knowledge.is_exact else []
    return settle(problem, solution, taken, knowledge.situation.trial_seed)


def spreads(history: History) -> tuple[float, Tensor]:
    """Standard deviations of the objectives and of each constraint (K,) seen, 1 where none is."""
    rows = np.array([[t.objective, *t.constraints] for t in history])
    rows = np.where(np.isfinite(rows), rows, np.nan)
    rows = rows[~np.isnan(rows).any(1)]
    found = rows.std(0) if len(rows) > 1 else np.ones(rows.shape[1])
    found = np.where(found > 0, found, 1.0)
    return float(found[0]), torch.tensor(found[1:])
