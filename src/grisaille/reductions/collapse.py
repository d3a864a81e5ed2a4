"""The problem as ordinary Bayesian optimization sees it: inside, nothing is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from grisaille.array_types import Array
from grisaille.errors import ModelError, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem, rewritten
from grisaille.language.program import BoxCall, Program
from grisaille.language.values import design_kinds, expanded
from grisaille.records import History, Observation, Pending, Situation, Suggestion, Trial

COLLAPSED = "collapsed"
"""Name of the black box that stands for everything unknown."""


def collapse(
    problem: Problem,
    *,
    kernel: Any = None,
    noise: ArrayLike | None = None,
    norm_bound: ArrayLike | None = None,
) -> Problem:
    """The problem as ordinary Bayesian optimization sees it, without its known structure.

    The objective and each scalar constraint that read a black box become one output each of one
    black box of all variables, learned independently; its evaluation is one run of the real chain.
    A part that reads no black box stays known.

    Args:
        problem: The grey-box problem.
        kernel: Kernel of the outputs; None to learn it.
        noise: Standard deviation of the outputs' noise, one or one per output; None for 0 if no
            black box of the problem has noise, and else to learn it.
        norm_bound: Bound on the norms of the outputs, one or one per output.
    """
    if not isinstance(problem, Problem):
        raise ModelError(f"collapse({shortened(problem)}): pass a gs.Problem")
    parts = _parts(problem)
    inside = Program([p for p in parts if _is_unknown(p)], problem.variables)
    if not inside.calls:
        raise ModelError("the problem has no black box: there is nothing to collapse")
    if noise is None and all(box.is_exact for box in inside.boxes):
        noise = 0.0

    def chain(*values: Any) -> Array:
        """One run of the real chain at a value for each variable."""
        flat = [
            [v.labels.index(value)] if v.labels else np.ravel(value)
            for v, value in zip(problem.variables, values, strict=True)
        ]
        x = np.concatenate([np.asarray(part, dtype=float) for part in flat])
        with torch.no_grad():
            outputs = inside.run(torch.tensor(x).unsqueeze(0), _ask)
        return np.concatenate([o.numpy().ravel() for o in outputs])

    box = BlackBox(
        chain,
        name=COLLAPSED,
        outputs=int(unknown_outputs(problem).sum()),
        noise=noise,
        kernel=kernel,
        norm_bound=norm_bound,
    )
    outputs = box(*problem.variables)
    bodies: list[Expression] = []
    start = 0
    for part in parts:
        if not _is_unknown(part):
            bodies.append(part)
            continue
        body = outputs if box.outputs == 1 else outputs[start : start + part.size]
        bodies.append(body.reshape(part.shape))
        start += part.size
    pairs = zip(bodies[1:], problem.constraints, strict=True)
    return rewritten(problem, bodies[0], [(body <= 0).replaced(name=c.name) for body, c in pairs])


@dataclass(frozen=True, slots=True)
class Collapse:
    """The reduction of a problem to its collapsed one, which a strategy adds.

    Attributes:
        original: The grey-box problem.
        problem: The collapsed problem.
    """

    original: Problem
    problem: Problem

    def down(self, situation: Situation) -> Situation:
        """Write a situation of the original as one of the collapsed problem."""
        kinds = design_kinds(self.problem.variables)
        # Answers of broken-off trials are of boxes inside, which nothing is known about here.
        failures = tuple(
            replace(f, box=COLLAPSED, inputs=expanded(kinds, f.x))
            for f in situation.history.failures
            if len(f.x) == self.problem.program.size  # the problem may have been changed since
        )
        return replace(
            situation,
            problem=self.problem,
            history=History(self._trials(situation.history), failures=failures),
            pending=tuple(Pending(p.suggestion) for p in situation.pending),
        )

    def up(self, suggestion: Suggestion) -> Suggestion:
        """Return a suggestion as it is: the variables are the same."""
        return suggestion

    def _trials(self, history: History) -> tuple[Trial, ...]:
        """Trials as the collapsed problem would have recorded them.

        An output without a value (the root of a negative number, say) counts as the worst one seen:
        a surrogate cannot learn from it as it is, and from nothing it would suggest the point for
        ever.
        """
        if not len(history):
            return ()
        unknown, sense = unknown_outputs(self.original), self.original.sense
        values = np.array([[sense * t.objective, *t.constraints] for t in history])[:, unknown]
        # Large is bad, but for an objective to be maximized.
        signs = np.ones(values.shape[1])
        signs[0] = sense if unknown[0] else 1
        finite = np.where(np.isfinite(values), values * signs, -np.inf)
        worst = np.where(np.isfinite(finite.max(0)), finite.max(0), 0.0)
        values = np.where(np.isfinite(values), values, worst * signs)
        # A black box takes one number per label, and a design point holds its position.
        kinds = design_kinds(self.original.variables)
        return tuple(
            replace(t, chain=row, observations=(Observation(COLLAPSED, expanded(kinds, t.x), row),))
            for t, row in zip(history, values, strict=True)
        )


def unknown_outputs(problem: Problem) -> NDArray[np.bool_]:
    """Which of the objective and the scalar constraints read a black box, (1 + K,)."""
    return np.concatenate([np.full(p.size, _is_unknown(p)) for p in _parts(problem)])


def _parts(problem: Problem) -> list[Expression]:
    return [problem.objective, *(c.body for c in problem.constraints)]


def _is_unknown(part: Expression) -> bool:
    return bool(Program([part]).calls)


def _ask(call: BoxCall, states: Tensor) -> Tensor:
    return torch.tensor(call.box.evaluate(states[0].numpy().copy())).unsqueeze(0)
