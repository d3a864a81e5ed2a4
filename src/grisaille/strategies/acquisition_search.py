"""What strategies share that maximize an acquisition function over the design space."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grisaille.confidence.knowledge import Knowledge
from grisaille.records import History
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import Evaluate, SearchProblem, Solution

# Local searches and points to start them from, per design variable: the effort of the publications
# on EI-CF and EI-FN.
_STARTS = 10
_SAMPLES = 100


def search_designs(knowledge: Knowledge, evaluate: Evaluate) -> Solution:
    """The design point of least acquisition, away from where black boxes failed.

    Args:
        knowledge: What is known; the incumbent is one of the starts.
        evaluate: Acquisition, minimized, and constraints of design points (batch, n).
    """
    program, incumbent = knowledge.program, knowledge.incumbent
    lower, upper = torch.tensor(program.lower), torch.tensor(program.upper)
    problem = SearchProblem(lower, upper, evaluate, program.continuous)
    if knowledge.failures is not None:
        problem = knowledge.failures.avoided_in(problem, knowledge.plausible)
    hints: Tensor = lower.new_zeros(0, program.size)
    if incumbent is not None:
        hints = torch.tensor(knowledge.history.trials[incumbent.position].x).unsqueeze(0)
    # Averages and quantiles of draws have many kinks.
    effort = MultiStart(_STARTS * program.size, _SAMPLES * program.size, again=False, polish=False)
    return effort.solve(problem, hints, knowledge.situation.trial_seed)


def spreads(history: History) -> tuple[float, Tensor]:
    """Standard deviations of the objectives and of each constraint (K,) seen, 1 where none is."""
    rows = np.array([[t.objective, *t.constraints] for t in history])
    rows = np.where(np.isfinite(rows), rows, np.nan)
    rows = rows[~np.isnan(rows).any(1)]
    found = rows.std(0) if len(rows) > 1 else np.ones(rows.shape[1])
    found = np.where(found > 0, found, 1.0)
    return float(found[0]), torch.tensor(found[1:])
