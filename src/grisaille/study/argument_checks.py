"""Checks of what users pass to a study: arguments, and numbers in declared ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import (
    check_amount,
    check_choice,
    check_confidence,
    check_count,
    check_flag,
    check_seed,
    check_strategy,
    is_count,
)
from grisaille.errors import AssumptionError, ModelError, ProtocolError, shortened
from grisaille.language.black_box import BlackBox, check_size, is_too_large
from grisaille.language.problem import Problem
from grisaille.records import History
from grisaille.study.log.address import is_unstorable, masked
from grisaille.study.state import Query

# --- argument checks ------------------------------------------------------------------------------
# Checks of the arguments that users pass to a study.


def check_study(
    problem: object,
    name: object,
    storage: object,
    strategy: object,
    seed: object,
    evaluation: object,
    confidence: object,
    retries: object,
    allow_changes: object,
) -> None:
    """Raise ModelError if an argument of `Study` is not what it should be."""
    if not isinstance(problem, Problem):
        raise ModelError(f"Study({shortened(problem)}): pass a gs.Problem")
    if not problem.boxes:
        raise ModelError(
            "the problem has no black box, so there is nothing to ask: use problem.solve()"
        )
    if not problem.variables:
        raise ModelError(
            "the problem has no variable, so there is nothing to choose: build it from a "
            "gs.Variable, or intervene in it with gs.causal_problem(...)"
        )
    for what, value in (("name", name), ("storage", storage)):
        if value is not None and (not isinstance(value, str) or not value.strip()):
            shown = masked(shortened(value))  # bytes, for example, may hold a password
            raise ModelError(f"Study({what}={shown}): pass a text, or leave it out")
    if isinstance(name, str) and len(name) > 255:
        raise ModelError(f"Study(name={name[:20]!r}...): a name has at most 255 characters")
    if isinstance(name, str) and is_unstorable(name):
        raise ModelError(f"Study(name={shortened(name)}): this name cannot be stored")
    check_settings(strategy, seed, evaluation)
    check_confidence("", confidence, optional=True)
    check_count("Study", "retries", retries, 0)
    check_flag("Study", "allow_changes", allow_changes)


def check_settings(strategy: object, seed: object, evaluation: object) -> None:
    """Raise ModelError if the strategy, the seed or the way of evaluation is not valid."""
    if strategy is not None:
        check_strategy(f"strategy={shortened(strategy)}", strategy)
    check_seed("", "seed", seed, optional=True)
    if evaluation is not None:
        check_choice("", "evaluation", evaluation, ("separate", "chained"))


def check_ask(n: object, trials: object, lease: object) -> None:
    """Raise ModelError if an argument of `Study.ask` is not what it should be."""
    if not is_count(n):
        raise ModelError(f"ask({shortened(n)}): how many is a whole number of at least 1")
    check_count("ask", "trials", trials, optional=True)
    check_amount("ask", "lease", lease, above_zero=True, optional=True)


def id_of(query: object) -> str:
    """The id of a query, from the query or its id."""
    if isinstance(query, Query):
        return query.id
    if isinstance(query, str):
        return query
    raise ModelError(f"{shortened(query)} is no query: pass what ask() gave, or its id")


def check_functions(problem: Problem) -> None:
    """Raise ProtocolError if a black box has no function to evaluate."""
    for box in problem.boxes:
        if box.fn is None:
            raise ProtocolError(
                f"black box {box.name!r} has no function (fn=None): give it one to solve here, or "
                "use ask and tell of a gs.Study"
            )


def check_seconds(seconds: object) -> None:
    """Raise ModelError if `seconds` of `Study.tell` is not a time."""
    check_amount("tell", "seconds", seconds, optional=True)


# --- declared ranges ------------------------------------------------------------------------------
# Checks of inputs and answers against the ranges that black boxes were declared with.


@dataclass(frozen=True, slots=True)
class ArgumentConstants:
    """The constants of checks of arguments.

    Attributes:
        rounding: Part of a range by which known parts may miss its end. A choice.
        noise: Widths of a declared range by which unknown noise may leave it. A choice.
    """

    rounding: float = 1e-9
    noise: float = 0.1


ARGUMENTS = ArgumentConstants()


def refusal(box: BlackBox, inputs: Array) -> str:
    """Why a black box does not accept inputs, in a sentence; empty if it does.

    Bands are those of accepted inputs. So a bound is true only if the optimum is sought among the
    points whose chain reaches no other ones.
    """
    low = np.broadcast_to(-np.inf if box.input_lower is None else box.input_lower, inputs.shape)
    high = np.broadcast_to(np.inf if box.input_upper is None else box.input_upper, inputs.shape)
    rounding = ARGUMENTS.rounding * (1 + np.abs(inputs))
    outside = np.flatnonzero((inputs < low - rounding) | (inputs > high + rounding))
    if not len(outside):
        return ""
    first = outside[0]
    return (
        f"the chain reaches black box {box.name!r} at {box.describe(inputs)}, outside the range "
        f"[{low[first]:g}, {high[first]:g}] of inputs that it accepts: it is not evaluated there; "
        "if it can be, widen input_lower= or input_upper="
    )


def check_range(box: BlackBox, inputs: Array, outputs: Array, history: History) -> None:
    """Raise AssumptionError if an answer is outside the declared range of its black box.

    Every answer passes here before it is recorded. Raise EvaluationError if it is too large to be
    learned from.

    With noise, an observation may be outside the range of the function itself. With noise to be
    learned, it may be outside by 10 % of the range or, if one end is not declared, of the spread of
    the earlier answers.
    """
    if is_too_large(outputs):
        check_size(outputs, f"black box {box.name!r} at {box.describe(inputs)}")
    if box.noise is not None and not box.is_exact:
        return
    low = np.full(box.outputs, -np.inf if box.lower is None else box.lower)
    high = np.full(box.outputs, np.inf if box.upper is None else box.upper)
    if (outputs >= low).all() and (outputs <= high).all():
        return  # without a look at the other answers, of which there may be many
    allowed = np.zeros(box.outputs)
    if box.noise is None:
        _, seen = history.data(box.name, box.inputs, box.outputs)
        # Fewer than two answers have no spread that could be contradicted.
        spread = np.ptp(seen, 0) if len(seen) > 1 else np.full(box.outputs, np.inf)
        allowed = ARGUMENTS.noise * np.where(np.isfinite(high - low), high - low, spread)
    if (outputs < low - allowed).any() or (outputs > high + allowed).any():
        far = "" if box.is_exact else ", by more than noise is likely to"
        raise AssumptionError(
            f"black box {box.name!r} at {box.describe(inputs)} returned {outputs.tolist()}, "
            f"outside the range [{np.min(low):g}, {np.max(high):g}] it was declared "
            f"with{far}: widen lower= or upper=, or leave them out"
            + ("" if box.is_exact else "; or pass its standard deviation as noise=")
        )
