"""Studies for tests in a browser, and a server of them.

Run `python -m tests.views.page.browser_studies`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import grisaille as gs
from grisaille.views.page.guard import Rules
from grisaille.views.page.serving import Server, free_socket
from grisaille.views.page.studies import StoredStudies
from tests.study.study_helpers import QUICK
from tests.views.page.page_helpers import HOSTILE, TOKEN, oven_problem, reactor_problem


def many_problem() -> gs.Problem:
    """Two variables, one black box and a constraint, for a study of many known results."""
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.Variable("y", lower=0, upper=1)
    box = gs.BlackBox(lambda x, y: x**2 + y, name="f", noise=0)
    return gs.Problem(minimize=box(x, y), subject_to={"sum": x + y >= 0.4})


def failing_problem() -> gs.Problem:
    """A black box that fails in half of its range."""
    x = gs.Variable("x", lower=0, upper=1)

    def simulator(x: float) -> float:
        if x > 0.5:
            raise ValueError("the furnace is too hot")
        return float(x)

    return gs.Problem(maximize=gs.BlackBox(simulator, name="simulator", noise=0)(x))


def infeasible_problem() -> gs.Problem:
    """A black box between 0 and 1 that is asked to exceed 2; its kernel is given."""
    x = gs.Variable("x", lower=0, upper=1)
    kernel = gs.SquaredExponential(lengthscale=1.0, variance=1.0)
    box = gs.BlackBox(lambda x: float(np.sin(x)), name="f", noise=0, kernel=kernel)
    return gs.Problem(minimize=box(x), subject_to={"impossible": box(x) >= 2, "easy": x <= 0.9})


def hostile_problem() -> gs.Problem:
    """Every name is markup."""
    x = gs.Variable(HOSTILE, lower=0, upper=1)
    box = gs.BlackBox(lambda x: x, name=HOSTILE, noise=0, outputs=[HOSTILE])
    low = box(x)[0]
    return gs.Problem(minimize=gs.named(HOSTILE, low), subject_to={HOSTILE: low >= 0.1})


PROBLEMS: dict[str, Callable[[], gs.Problem]] = {
    "plant": reactor_problem,
    "oven": oven_problem,
    "many": many_problem,
    "failing": failing_problem,
    "infeasible": infeasible_problem,
    HOSTILE: hostile_problem,
}
"""Problems by the names of their studies, which may have a number after a hyphen."""


def opened(storage: str, name: str) -> gs.Study:
    """A study, new or stored."""
    problem = PROBLEMS[name if name == HOSTILE else name.split("-")[0]]()
    # What is impossible is proved by the default solver only.
    strategy = gs.Optimistic() if name == "infeasible" else QUICK
    return gs.Study(problem, storage=storage, name=name, strategy=strategy, seed=0)


def make_studies(storage: str) -> None:
    """Those that tests only look at."""
    for name, trials in (("plant", 6), ("failing", 5), ("infeasible", 6), (HOSTILE, 4)):
        with opened(storage, name) as study:
            study.run(trials, progress=False)
    with opened(storage, "many") as study:
        points = np.random.default_rng(0).random((1000, 2))
        study.observe("f", points, points[:, 0] ** 2 + points[:, 1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("storage")
    parser.add_argument("port", type=int)
    parser.add_argument("--read-only", action="store_true")
    options = parser.parse_args()
    studies = StoredStudies(options.storage, lambda name: opened(options.storage, name))
    rules = Rules(TOKEN, read_only=options.read_only)
    Server(studies, rules, free_socket("127.0.0.1", options.port)).run()


if __name__ == "__main__":
    main()
