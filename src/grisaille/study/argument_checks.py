"""Checks of the arguments that users pass to a study."""

from __future__ import annotations

import numpy as np

from grisaille.checks import is_number, is_whole
from grisaille.errors import ModelError, ProtocolError, shortened
from grisaille.language.problem import Problem
from grisaille.storage.address import masked
from grisaille.study.session import Query


def check_study(
    problem: object,
    name: object,
    storage: object,
    strategy: object,
    seed: object,
    evaluation: object,
    retries: object,
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
    check_settings(strategy, seed, evaluation)
    if not is_whole(retries) or retries < 0:  # type: ignore[operator]
        raise ModelError(f"Study(retries={shortened(retries)}): a whole number of at least 0")


def check_settings(strategy: object, seed: object, evaluation: object) -> None:
    """Raise ModelError if the strategy, the seed or the way of evaluation is not valid."""
    if strategy is not None and (isinstance(strategy, type) or not hasattr(strategy, "suggest")):
        raise ModelError(
            f"strategy={shortened(strategy)}: pass a strategy object such as gs.Optimistic()"
        )
    if seed is not None and not (is_whole(seed) and seed >= 0):  # type: ignore[operator]
        raise ModelError(f"seed={shortened(seed)}: a seed is a whole number of at least 0")
    if evaluation not in (None, "separate", "chained"):
        raise ModelError(f"evaluation={shortened(evaluation)}: use 'separate' or 'chained'")


def check_ask(n: object, trials: object, lease: object) -> None:
    """Raise ModelError if an argument of `Study.ask` is not what it should be."""
    if not is_whole(n) or n < 1:  # type: ignore[operator]
        raise ModelError(f"ask({shortened(n)}): how many is a whole number of at least 1")
    if trials is not None and not (is_whole(trials) and trials >= 1):  # type: ignore[operator]
        raise ModelError(f"ask(trials={shortened(trials)}): a whole number of at least 1, or None")
    if lease is not None and not (is_number(lease) and 0 < lease < np.inf):  # type: ignore[operator]
        raise ModelError(f"ask(lease={shortened(lease)}): pass seconds above 0, or None")


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


def check_run(
    trials: object,
    workers: object,
    timeout: object,
    gap_tol: object,
    max_cost: object,
    callback: object,
    stop_if_infeasible: object,
) -> None:
    """Raise ModelError if an argument of `Study.run` is not what it should be."""
    for name, value in (("trials", trials), ("workers", workers)):
        if value is not None and (not is_whole(value) or value < 1):  # type: ignore[operator]
            raise ModelError(f"{name}={shortened(value)}: pass a whole number of at least 1")
    for name, value in (("timeout", timeout), ("gap_tol", gap_tol), ("max_cost", max_cost)):
        if value is not None and (not is_number(value) or not 0 <= value < np.inf):  # type: ignore[operator]
            raise ModelError(
                f"{name}={shortened(value)}: pass a finite number of at least 0, or None"
            )
    if not isinstance(stop_if_infeasible, bool):
        raise ModelError(f"stop_if_infeasible={shortened(stop_if_infeasible)}: pass True or False")
    if callback is not None and not callable(callback):
        raise ModelError(f"callback={shortened(callback)}: pass a function of one trial")


def check_seconds(seconds: object) -> None:
    """Raise ModelError if `seconds` of `Study.tell` is not a time."""
    if seconds is not None and not (is_number(seconds) and 0 <= seconds < np.inf):  # type: ignore[operator]
        raise ModelError(
            f"tell(seconds={shortened(seconds)}): pass a number of at least 0, or None"
        )
