"""Studies to show, and a client that asks the server without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from starlette.testclient import TestClient

import grisaille as gs
from grisaille.views.page.guard import Rules
from grisaille.views.page.serving import Pages
from grisaille.views.page.studies import RunningStudies
from tests.study.study_helpers import QUICK

Value = TypeVar("Value")

TOKEN = "a-token-that-only-tests-know"
HOSTILE = "<script>alert('x')</script> & \"quotes\""


def reactor_problem() -> gs.Problem:
    """Two variables, a black box of two outputs and a second one, two constraints, maximized."""
    flow = gs.Variable("flow", lower=0.5, upper=3, unit="kg/s")
    heat = gs.Variable("heat", lower=20, upper=90, unit="degC")

    def reactor(flow: float, heat: float) -> list[float]:
        return [1 - np.exp(-heat / 40 / flow), 0.001 * heat / flow]

    box = gs.BlackBox(reactor, name="reactor", outputs=["yield", "waste"], noise=0)
    column = gs.BlackBox(lambda y: y**2, name="column", noise=0)
    y = box(flow, heat)
    profit = gs.named("profit", 10 * flow * column(y["yield"]) - 0.02 * heat)
    return gs.Problem(maximize=profit, subject_to={"waste": y["waste"] <= 0.05, "sum": flow <= 2.8})


def reactor_study(trials: int = 8, name: str | None = None, **options: object) -> gs.Study:
    """A study of it in memory, with some trials made."""
    study = gs.Study(reactor_problem(), strategy=QUICK, seed=0, **options)
    study.name = name or study.name
    if trials:
        study.run(trials, progress=False)
    return study


@cache
def made_study() -> gs.Study:
    """The same with eight trials, for tests that only look."""
    return reactor_study(8)


def oven_problem() -> gs.Problem:
    """One variable, and a black box of two outputs that is evaluated elsewhere."""
    x = gs.Variable("x", lower=0, upper=1)
    oven = gs.BlackBox(None, name="oven", outputs=["hardness", "colour"], noise=0)
    y = oven(x)
    return gs.Problem(minimize=y["hardness"], subject_to=[y["colour"] <= 1])


def asked_study() -> gs.Study:
    """A study whose black box is evaluated elsewhere, with two questions open."""
    study = gs.Study(oven_problem(), seed=0)
    study.name = "oven"
    study.ask(2, trials=10)
    return study


@contextmanager
def client(
    *studies: gs.Study,
    rules: Rules | None = None,
    known: bool = True,
    shows_accidents: bool = False,
) -> Iterator[TestClient]:
    """A browser without a network.

    Args:
        studies: What it is shown.
        rules: Who may do what.
        known: Whether it was given the token.
        shows_accidents: Whether it sees what the server makes of an exception; else that is raised.
    """
    rules, shown = rules or Rules(TOKEN), RunningStudies()
    for study in studies:
        shown.add(study)
    app = Pages(shown, rules).app()
    options = {"raise_server_exceptions": not shows_accidents, "follow_redirects": False}
    with TestClient(app, base_url="http://127.0.0.1:8642", **options) as found:
        if known:
            found.get(f"/?token={rules.token}")
        yield found


def awaited(work: Coroutine[Any, Any, Value]) -> Value:
    """What asynchronous work gives, in a thread: while a browser runs, this one has a loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def form_word(rules: Rules | None = None) -> str:
    """What a form of the page sends along."""
    return (rules or Rules(TOKEN)).derived("form")
