"""Plain Bayesian optimization with BoTorch: the yardstick."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.belief.design_problem import between, design_region
from grisaille.belief.incumbent import Incumbent
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.processes.likelihood import NOISE_FREE
from grisaille.checks import check_count
from grisaille.errors import ModelError
from grisaille.language.expression import Constraint
from grisaille.language.linear_system import linear_rows
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program, split_outputs
from grisaille.language.unknowns import refuse_unknowns
from grisaille.language.values import condensed, design_kinds
from grisaille.records import Bound, Situation, Suggestion, TrialKind
from grisaille.reductions.collapse import COLLAPSED, Collapse, collapse, unknown_outputs
from grisaille.search.polytope import Polytope
from grisaille.search.search_problem import Solution
from grisaille.strategies.acquisition import settled, spreads
from grisaille.strategies.initial_design import (
    as_initial,
    check_design,
    initial_suggestion,
    still_initial,
)

# How sharply a known constraint is kept, in spreads of what was seen.
_SHARPNESS = 1e-3
# How many local searches BoTorch makes at once where linear inequalities are to be kept.
_AT_ONCE = 5
# How far to keep from points that are taken, in ranges of the variables.
_NEXT_TO = 0.02


@dataclass(frozen=True, slots=True)
class LogEI:
    """Logarithmic expected improvement on the collapsed problem, all BoTorch's own.

    x^t maximizes log E[max(best - f(x), 0)] (Ament et al. 2023), and with constraints
    log E[max(best - f(x), 0)] + sum_k log P(g_k(x) <= 0), objective and constraints being
    independent Gaussian processes of x: `SingleTaskGP`, `LogExpectedImprovement` or
    `LogConstrainedExpectedImprovement`, and `optimize_acqf`, with BoTorch's defaults. What is
    inside is not known to it. Constraints that read no black box are kept as they are. Trials under
    way, and those that broke off, count as if they had come out as predicted, and are kept away
    from.

    Attributes:
        restarts: Local searches, by default 20.
        raw_samples: Points to start them from, by default 512.
        initial: As in `Optimistic`.
    """

    restarts: int = 20
    raw_samples: int = 512
    initial: Any = None

    def __post_init__(self) -> None:
        for name in ("restarts", "raw_samples"):
            check_count("LogEI", name, getattr(self, name))
        object.__setattr__(self, "initial", as_initial("LogEI", self.initial))

    def check(self, problem: Problem) -> None:
        """Every problem whose objective reads a black box."""
        refuse_unknowns("LogEI", problem.variables)
        check_design(self.initial, problem)
        if not unknown_outputs(problem)[0]:
            raise ModelError(
                "LogEI learns the objective, but this one reads no black box: use "
                "gs.Optimistic() or gs.CUQB()"
            )

    def suggest(self, situation: Situation) -> Suggestion:
        """The next point of the initial design, or the one of greatest expected improvement."""
        inside = _collapsed(situation)
        if still_initial(inside, self.initial, [COLLAPSED]):
            return initial_suggestion(situation, self.initial)
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(situation.trial_seed)
            x = self._most_improving(inside)
        return Suggestion(TrialKind.ACQUIRED, x, pending=len(situation.pending))

    def bound(self, situation: Situation) -> Bound:
        """None: an expectation bounds nothing."""
        return Bound(reason="LogEI gives none, and gs.Optimistic() does")

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        return Knowledge(_collapsed(situation)).incumbent

    def learned(self, problem: Problem) -> list[str]:
        """Objective and constraints."""
        return ["objective and constraints"]

    def _most_improving(self, situation: Situation) -> np.ndarray[Any, np.dtype[np.float64]]:
        from botorch.optim import optimize_acqf

        program = situation.problem.program
        space = program.space
        lower, upper = torch.tensor(space.search_lower), torch.tensor(space.search_upper)
        unit = torch.stack([torch.zeros_like(lower), torch.ones_like(lower)])
        region = design_region(program)
        drawn = None if region is None else region.uniform(self.raw_samples, situation.trial_seed)
        region = region if drawn is not None else None  # else no room is known to start from
        acquisition = _encoded(_acquisition(situation), program)
        acquisition = _restrained(acquisition, situation, keeps_linear=region is not None)
        best, value = optimize_acqf(
            acquisition,
            unit,
            1,
            num_restarts=self.restarts,
            raw_samples=self.raw_samples,
            **({} if region is None else self._linear(acquisition, region, drawn)),
        )
        point = lower + (upper - lower) * best[0]

        def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
            worth = acquisition(((points - lower) / (upper - lower)).unsqueeze(1))
            if region is None:
                return -worth, points[:, :0]
            return -worth, points @ torch.tensor(region.matrix).T - torch.tensor(region.limits)

        found = Solution(point, value=-float(value), violation=0.0, feasible=True, evaluations=0)
        problem = between(program, lower, upper, evaluate, region)
        return space.to_try(settled(problem, found, Knowledge(situation)).point)

    def _linear(self, acquisition: Any, region: Polytope, drawn: Any) -> dict[str, Any]:
        """What `optimize_acqf` is told about linear inequalities of the variables alone.

        BoTorch keeps to them exactly. Its own points to start from would take seconds of random
        walks, so these are ours, chosen by its own rule.
        """
        from botorch.optim.initializers import initialize_q_batch

        width, every = region.upper - region.lower, torch.arange(len(region.lower))
        rows = zip(region.matrix, region.limits - region.matrix @ region.lower, strict=True)
        told = [(every, torch.tensor(-row * width), float(-limit)) for row, limit in rows]
        points = torch.tensor((drawn - region.lower) / width).unsqueeze(1)
        with torch.no_grad():
            starts, _ = initialize_q_batch(points, acquisition(points), self.restarts)
        return {
            "inequality_constraints": told,
            "batch_initial_conditions": starts,
            "options": {"batch_limit": _AT_ONCE},
        }


def _collapsed(situation: Situation) -> Situation:
    return Collapse(situation.problem, collapse(situation.problem)).down(situation)


def _acquisition(situation: Situation) -> Any:
    """BoTorch's own acquisition function, of features of points in the unit box."""
    from botorch.acquisition.analytic import (
        LogConstrainedExpectedImprovement,
        LogExpectedImprovement,
        LogProbabilityOfFeasibility,
    )

    sense = situation.problem.sense
    model, center, spread = _fitted(situation)
    taken = _taken(situation)
    incumbent = Knowledge(situation).incumbent
    assert incumbent is not None  # the initial design is over
    # The first output is the objective, in the user's sense; the others are met when <= 0.
    limits = {k: (None, -center[k] / spread[k]) for k in range(1, len(center))}
    if limits and not incumbent.feasible:
        return LogProbabilityOfFeasibility(model, limits)
    best = (sense * incumbent.objective - center[0]) / spread[0]
    best = best if np.isfinite(best) else 0.0  # a formula had no value at any point tried
    if len(taken):  # what they are expected to give is not to be improved on once more
        expected = model.posterior(_features(situation.problem.program, taken)).mean[:, 0].detach()
        best = float(sense * min(sense * best, float((sense * expected).min())))
    if not limits:
        return LogExpectedImprovement(model, best, maximize=sense < 0)
    return LogConstrainedExpectedImprovement(model, best, 0, limits, maximize=sense < 0)


def _fitted(situation: Situation) -> tuple[Any, list[float], list[float]]:
    """A model of standardized outputs over features, and their centers and spreads."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    program = situation.problem.program
    box = program.boxes[0]
    inputs, outputs = situation.history.data(box.name, box.inputs, box.outputs)
    center, spread = outputs.mean(0), outputs.std(0)
    spread = np.where(spread > 0, spread, 1.0)
    design = condensed(design_kinds(program.variables), inputs)
    x = _features(program, _in_unit_box(program, torch.tensor(design)))
    y = torch.tensor((outputs - center) / spread)
    noise = torch.full_like(y, NOISE_FREE) if box.is_exact else None
    model = SingleTaskGP(x, y, train_Yvar=noise, outcome_transform=None)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    model.eval()
    taken = _features(program, _taken(situation))
    if len(taken):
        predicted = model.posterior(taken).mean.detach()
        known = None if noise is None else noise[:1].expand_as(predicted)
        model = model.condition_on_observations(taken, predicted, noise=known)
    return model, center.tolist(), spread.tolist()


def _taken(situation: Situation) -> Tensor:
    """Pending points, and points where a trial broke off, in the unit box."""
    program = situation.problem.program
    points = [p.suggestion.x for p in situation.pending]
    points += [f.x for f in situation.history.failures]
    taken = torch.tensor(np.array(points, dtype=float).reshape(-1, program.size))
    return _in_unit_box(program, taken)


def _in_unit_box(program: Program, design: Tensor) -> Tensor:
    """Design points as parts of the ranges they are searched in."""
    space = program.space
    lower, upper = torch.tensor(space.search_lower), torch.tensor(space.search_upper)
    return (space.to_search(design) - lower) / (upper - lower)


def _features(program: Program, unit: Tensor) -> Tensor:
    """What the model reads of points (..., n) in the unit box: one number per label of a choice.

    Between two positions, where only the search looks, the numbers change linearly.
    """
    parts = []
    for kind, own in zip(design_kinds(program.variables), unit.unbind(-1), strict=True):
        if kind.labels:
            places = torch.arange(kind.width, dtype=unit.dtype)
            away = (own.unsqueeze(-1) * (kind.width - 1) - places).abs()
            parts.append((1 - away).clamp_min(0))
        else:
            parts.append(own.unsqueeze(-1))
    return torch.cat(parts, -1)


def _encoded(acquisition: Any, program: Program) -> Any:
    """The acquisition function, of points in the unit box."""
    from botorch.acquisition import AcquisitionFunction

    if not program.space.nominal.any():
        return acquisition

    class Encoded(AcquisitionFunction):  # type: ignore[misc]
        def forward(self, X: Tensor) -> Tensor:  # noqa: N803 (BoTorch passes it by this name)
            value: Tensor = acquisition(_features(program, X))
            return value

    return Encoded(model=acquisition.model)


def _restrained(acquisition: Any, situation: Situation, keeps_linear: bool) -> Any:
    """The acquisition function, falling steeply where it is not wanted.

    That is where a constraint without black box is broken, and next to points that are taken.
    Linear ones are left out if the search keeps them.
    """
    from botorch.acquisition import AcquisitionFunction
    from botorch.utils.transforms import t_batch_mode_transform

    problem, taken = situation.problem, _taken(situation)
    is_kept = [_is_known(problem, c, keeps_linear) for c in problem.constraints]
    sizes = [c.body.size for c in problem.constraints]
    known = torch.tensor(np.repeat(np.array(is_kept, dtype=bool), sizes))
    if not known.any() and not len(taken):
        return acquisition
    bodies = [c.body for c, kept in zip(problem.constraints, is_kept, strict=True) if kept]
    program = Program([problem.variables[0], *bodies], problem.variables)
    spread = spreads(situation.history)[1][known]
    space = problem.program.space
    lower, upper = torch.tensor(space.search_lower), torch.tensor(space.search_upper)

    class Restrained(AcquisitionFunction):  # type: ignore[misc]
        @t_batch_mode_transform(expected_q=1)  # type: ignore[untyped-decorator]
        def forward(self, X: Tensor) -> Tensor:  # noqa: N803 (BoTorch passes it by this name)
            unit = X.squeeze(-2)
            design = space.to_design(lower + (upper - lower) * unit)
            excess = split_outputs(program.run(design, _unasked))[1] / spread
            room = -excess / _SHARPNESS
            if len(taken):
                distance = (unit.unsqueeze(1) - taken).square().sum(-1).clamp_min(1e-18).sqrt()
                room = torch.cat([room, (distance - _NEXT_TO) / (0.1 * _NEXT_TO)], 1)
            value: Tensor = acquisition(X) + torch.nn.functional.logsigmoid(room).sum(-1)
            return value

    return Restrained(model=acquisition.model)


def _is_known(problem: Problem, constraint: Constraint, keeps_linear: bool) -> bool:
    """Whether a constraint reads no black box, and is not one of those that the search keeps."""
    if Program([constraint.body]).calls:
        return False
    rows = linear_rows(constraint.body, problem.variables) if keeps_linear else None
    return rows is None or bool(rows.matrix[:, problem.program.space.logarithmic].any())


def _unasked(call: BoxCall, _states: Tensor) -> Tensor:
    raise AssertionError(f"a known constraint reads {call.box!r}")
