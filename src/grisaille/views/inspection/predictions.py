"""Predictions of a problem as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grisaille.array_types import Array
from grisaille.belief.predictions import NoSlope, Predictor, lagrange_multipliers, slopes_at
from grisaille.checks import attribute_of
from grisaille.errors import ModelError, shortened
from grisaille.language.design_points import own_points
from grisaille.language.expression import Constraint, Expression
from grisaille.language.problem import Problem
from grisaille.language.values import entry_names
from grisaille.records import History
from grisaille.strategies.optimistic import bands_of
from grisaille.strategies.strategy import Strategy

if TYPE_CHECKING:
    import pandas


def predictor_for(problem: Problem, history: History, strategy: Strategy) -> Predictor:
    """Return predictions with the bands of a strategy.

    Those of `Optimistic` hold at a point with its confidence; those of its bound are wider, because
    they hold everywhere at once. Other strategies have none, and get two standard deviations.
    """
    rule = bands_of(strategy)
    if rule is None:
        return Predictor(problem, history)
    return Predictor(problem, history, rule, audited=True)


def expression_table(predictor: Predictor, expression: Any, x: Any) -> pandas.DataFrame:
    """Mean, lower and upper end of an expression, one row per point."""
    import pandas

    if not isinstance(expression, Expression):
        hint = " (a constraint has two sides: pass one of them)"
        raise ModelError(
            f"predict(expression={shortened(expression)}): pass an expression of the problem's "
            f"variables and black boxes{hint if isinstance(expression, Constraint) else ''}"
        )
    points = predictor.closed(own_points(predictor.problem.program, x, "predict(x)"))
    found = predictor.predict([expression], points)
    names = (entry_names(part, expression.shape) for part in ("mean", "lower", "upper"))
    columns: dict[str, Array] = {}
    for entry, triple in enumerate(zip(*names, strict=True)):
        parts = (found.mean, found.lower, found.upper)
        columns |= {name: part[:, entry] for name, part in zip(triple, parts, strict=True)}
    return pandas.DataFrame(columns, index=_index(x, len(points)))


def problem_table(predictor: Predictor, x: Any) -> pandas.DataFrame:
    """Objective, and slack of each constraint, with their intervals; one row per point."""
    import pandas

    problem = predictor.problem
    points = predictor.closed(own_points(problem.program, x, "predict(x)"))
    bodies = [constraint.body for constraint in problem.constraints]
    found = predictor.predict([problem.objective, *bodies], points)
    objective = (found.mean[:, 0], found.lower[:, 0], found.upper[:, 0])
    columns = dict(zip(_triple("objective"), objective, strict=True))
    limits = zip(problem.constraint_names, problem.tolerances, strict=True)
    for entry, (label, tolerance) in enumerate(limits, 1):
        ends = (found.mean[:, entry], found.upper[:, entry], found.lower[:, entry])
        slack = [-(end + tolerance) for end in ends]  # a body has its tolerance taken off
        columns |= dict(zip(_triple(f"slack {label}"), slack, strict=True))
    return pandas.DataFrame(columns, index=_index(x, len(points)))


def confidence_table(predictor: Predictor, x: Array) -> pandas.DataFrame:
    """What is known of one design point, flat: see `Result.confidence`."""
    import pandas

    problem = predictor.problem
    quantities = [_quantity(constraint) for constraint in problem.constraints]
    expressions = [problem.objective, *(expression for expression, _, _ in quantities)]
    found = predictor.predict(expressions, x.reshape(1, -1))
    ends, limits, signs = [], [np.nan], [np.nan]
    start = 1
    for constraint, (expression, limit, sign) in zip(problem.constraints, quantities, strict=True):
        shape = constraint.body.shape
        for part in (found.mean, found.lower, found.upper):
            own = part[0, start : start + expression.size].reshape(expression.shape)
            ends.append(np.broadcast_to(own, shape).ravel())
        start += expression.size
        limits += np.broadcast_to(limit, shape).ravel().tolist()
        signs += [sign] * constraint.body.size
    objective = (found.mean[0, :1], found.lower[0, :1], found.upper[0, :1])
    value, lower, upper = (np.concatenate([objective[i], *ends[i::3]]) for i in range(3))
    limit, direction = np.array(limits), np.array(signs)
    slack = direction * (limit - value)
    least = np.where(direction > 0, limit - upper, lower - limit)
    allowed = problem.tolerances
    active, multipliers, note = _multipliers(predictor, x, slack[1:] + allowed, least[1:] + allowed)
    units = [problem.objective_unit, *problem.constraint_units]
    return pandas.DataFrame(
        {
            "value": value,
            "lower": lower,
            "upper": upper,
            "limit": limit,
            "slack": slack,
            "unit": [unit or "" for unit in units],
            "active": pandas.array([pandas.NA, *active.tolist()], dtype="boolean"),
            "multiplier": np.concatenate([[np.nan], multipliers]),
            "note": ["", *[note] * len(active)],
        },
        index=["objective", *problem.constraint_names],
    )


def _multipliers(
    predictor: Predictor, x: Array, slack: Array, least: Array
) -> tuple[NDArray[np.bool_], Array, str]:
    """Which constraints are active, their multipliers, and why there are none.

    Args:
        predictor: What is believed.
        x: The point, flat.
        slack: How far each constraint is from being violated, its tolerance included.
        least: How little that can be, by the bands.
    """
    # The bands do not exclude that there is no room left.
    active = np.asarray(least <= 0)
    unknown = np.full(len(slack), np.nan)
    try:
        slopes = slopes_at(predictor, x)
    except NoSlope as reason:
        return active, unknown, f"no multipliers: {reason}"
    active = active | slopes.near(slack)
    if slopes.beyond(slack).any():
        return active, unknown, "no multipliers: the point violates a constraint"
    program = predictor.problem.program
    width = program.upper - program.lower
    room = (x - program.lower) / width, (program.upper - x) / width
    return active, lagrange_multipliers(slopes, active, *room), ""


def _quantity(constraint: Constraint) -> tuple[Expression, Array, int]:
    """What a constraint limits, its limit, and 1 for an upper limit, -1 for a lower one.

    A side that is a plain number is the limit; without one it is the difference of the sides, as
    they were written, and 0.
    """
    left, right = constraint.left, constraint.right
    if right._known is not None:
        return left, right._known, 1
    if left._known is not None:
        return right, left._known, -1
    if constraint.flipped:
        return right - left, np.zeros(()), -1
    return left - right, np.zeros(()), 1


def _triple(name: str) -> tuple[str, str, str]:
    return name, f"{name} lower", f"{name} upper"


def _index(x: Any, points: int) -> Any:
    """The rows' own labels, so that a table can be joined with the one it was made from."""
    index = attribute_of(x, "index")
    fits = attribute_of(x, "columns") is not None and len(index) == points
    return index if fits else range(points)
