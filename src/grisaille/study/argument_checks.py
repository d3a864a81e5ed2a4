"""Checks of the arguments that users pass to a study."""

from __future__ import annotations

from grisaille.checks import (
    check_amount,
    check_choice,
    check_count,
    check_flag,
    check_function,
    check_seed,
    check_strategy,
    is_count,
)
from grisaille.errors import ModelError, ProtocolError, shortened
from grisaille.execution.evaluators import check_executor
from grisaille.language.problem import Problem
from grisaille.storage.address import is_unstorable, masked
from grisaille.study.query import Query


def check_study(
    problem: object,
    name: object,
    storage: object,
    strategy: object,
    seed: object,
    evaluation: object,
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


def check_run(
    trials: object,
    workers: object,
    timeout: object,
    gap_tol: object,
    max_cost: object,
    callback: object,
    stop_if_infeasible: object,
    executor: object,
    progress: object,
    dashboard: object = False,
) -> None:
    """Raise ModelError if an argument of `Study.run` is not what it should be."""
    for name, value in (("trials", trials), ("workers", workers)):
        check_count("", name, value, optional=True)
    for name, value in (("timeout", timeout), ("gap_tol", gap_tol), ("max_cost", max_cost)):
        check_amount("", name, value, optional=True)
    check_flag("", "stop_if_infeasible", stop_if_infeasible)
    check_flag("", "progress", progress, optional=True)
    check_flag("", "dashboard", dashboard)
    check_function("", "callback", callback, "a function of one trial")
    check_executor(executor)


def check_seconds(seconds: object) -> None:
    """Raise ModelError if `seconds` of `Study.tell` is not a time."""
    check_amount("tell", "seconds", seconds, optional=True)
