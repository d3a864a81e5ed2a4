"""Wrong keywords and names are answered with a sentence that says what to write."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import grisaille as gs

X = gs.Variable("x", lower=0, upper=1)
F = gs.BlackBox(lambda x: (x - 0.3) ** 2, name="f", noise=0)
PROBLEM = gs.Problem(minimize=F(X))


def study() -> gs.Study:
    return gs.Study(PROBLEM, strategy=gs.RandomSearch())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: gs.Problem(minimize=F(X), constraints=[]),
            "Problem has no constraints=: write subject_to=[...]",
        ),
        (
            lambda: gs.Problem(objective=F(X)),
            "Problem has no objective=: write minimize=... or maximize=...",
        ),
        (lambda: PROBLEM.solve(n_trials=3), "Problem.solve has no n_trials=: write trials=..."),
        (lambda: study().run(n_calls=3), "Study.run has no n_calls=: write trials=..."),
        (lambda: gs.BlackBox(len, nosie=0), "BlackBox has no nosie=: write noise=..."),
        (lambda: gs.black_box(nosie=0)(len), "BlackBox has no nosie=: write noise=..."),
        (lambda: gs.Matern(nu=2.5), "Matern has no nu=: write smoothness=..."),
        (
            lambda: gs.BlackBox(len, vectorized=True),
            "BlackBox has no vectorized=: a black box is called with one point at a time; "
            "gs.white_box has vectorized=",
        ),
        (
            lambda: gs.Variable("x", bounds=(0, 1)),
            "Variable has no bounds=: write lower=..., upper=...",
        ),
        (lambda: gs.Optimistic(kappa=3), "Optimistic has no kappa=: write beta=..."),
        (lambda: study().tell("1-1", answer=3), "Study.tell has no answer=: write value=..."),
        (
            lambda: gs.Problem(minimize=F(X), trials=3),
            "Problem has no trials=: Problem.solve has trials=",
        ),
        (
            lambda: gs.RandomSearch(seed=3),
            "RandomSearch has no seed=: Problem.solve has seed=",
        ),
        (lambda: gs.compare({}, [], n_jobs=3), "compare has no n_jobs=: write workers=..."),
        (
            lambda: gs.Problem(minimize=F(X), options={}),
            "Problem has no options=: options are arguments of problem.solve",
        ),
        (
            lambda: PROBLEM.solve(storage="sqlite:///s.db"),
            "Problem.solve has no storage=: name a study: gs.Study(problem, name='...', "
            "storage='...').run()",
        ),
        (lambda: study().run(strategy=3), "Study.run has no strategy=: gs.Study has strategy="),
        (lambda: gs.Study(PROBLEM, n_trials=3), "Study has no n_trials=: Study.run has trials="),
        (
            lambda: gs.Study(PROBLEM, load_if_exists=True),
            "Study has no load_if_exists=: leave it out: a study of this name in the storage is "
            "opened",
        ),
        (lambda: study().observe("f", X=[1], y=[2]), "Study.observe has no X=: write inputs=..."),
        (lambda: study().predict(points=[1]), "Study.predict has no points=: write x=..."),
        (lambda: gs.compare({}, [], path="r"), "compare has no path=: write folder=..."),
        (lambda: gs.Certified(time_limit=3), "Certified has no time_limit=: write seconds=..."),
        (lambda: gs.BlackBox(len, train_Yvar=3), "BlackBox has no train_Yvar=: write noise=..."),
        (
            lambda: gs.LogEI(xi=0.01),
            "LogEI has no xi=: it takes restarts=, raw_samples=, initial=",
        ),
        (lambda: gs.Choice("c", prior=3), "Choice has no prior=: it takes name=, labels="),
        (
            lambda: gs.Grid(colour=3),
            "Grid has no colour=: it takes points=",
        ),
        (
            lambda: gs.Variable("x", 0, 1),
            "Variable takes 2 (name, shape) by position, got 3: write the others by name, lower=, "
            "upper=, unit=, step=, log=",
        ),
        (lambda: gs.Choice("c"), "Choice needs labels: write Choice(name, labels)"),
        (
            lambda: gs.do(3),
            "do needs lower and upper: write do(target, lower=..., upper=...)",
        ),
        (
            lambda: gs.Choice("c", name="c"),
            "Choice got name= twice, by position and by name: leave one out",
        ),
    ],
)
def test_wrong_arguments_are_answered_by_a_sentence(call: Callable[[], Any], sentence: str):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == sentence
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("look", "sentence"),
    [
        (lambda: gs.Blackbox, "grisaille has no Blackbox: did you mean 'BlackBox'?"),
        (lambda: gs.Float, "grisaille has no Float: write gs.Variable('x', lower=0, upper=1)"),
        (lambda: gs.Categorical, "grisaille has no Categorical: write gs.Choice('c', ['A', 'B'])"),
        (lambda: gs.UCB, "grisaille has no UCB: write gs.Optimistic()"),
        (lambda: gs.Parameters, "grisaille has no Parameters: write gs.Variable('x', lower=0"),
        (lambda: gs.SingleTaskGP, "grisaille has no SingleTaskGP: black boxes are learned by"),
        (lambda: gs.qEHVI, "grisaille has no qEHVI: there is one objective: limit the others"),
        (lambda: gs.pi, "grisaille has no pi: write it with NumPy: np.pi"),
        (lambda: gs.linprog, "grisaille has no linprog: write gs.Problem(minimize=f(x)).solve("),
        (lambda: gs.Permutation, "grisaille has no Permutation: dir() lists what it has"),
        (lambda: gs.nothing_like_it, "grisaille has no nothing_like_it: dir() lists what it has"),
        (lambda: PROBLEM.optimize, "Problem has no optimize: write problem.solve(trials=50)"),
        (lambda: F.noize, "BlackBox has no noize: did you mean 'noise'?"),
        (lambda: X.clip, "Variable has no clip: write it with NumPy: np.clip(...)"),
        (lambda: F(X).value, "Call has no value: an expression has no value yet"),
        (lambda: gs.Choice("c", ["A", "B"]).choices, "Choice has no choices: write c.labels"),
        (lambda: gs.Optimistic().kappa, "Optimistic has no kappa: write beta"),
        (lambda: (X <= 1).rhs, "Constraint has no rhs: write constraint.right"),
        (lambda: X.abs, "Variable has no abs: write it with NumPy: np.abs(...)"),
        (lambda: study().sampler, "Study has no sampler: write strategy"),
        (lambda: study().best_params, "Study has no best_params: write study.result()"),
    ],
)
def test_wrong_names_are_answered_by_a_sentence(look: Callable[[], Any], sentence: str):
    with pytest.raises(AttributeError) as caught:
        look()
    assert str(caught.value).startswith(sentence)


@pytest.mark.slow
def test_what_a_user_meets_without_naming_it_answers_too():
    # In a new process, where nothing has named gs.Result, gs.Query or gs.Trial yet.
    script = """
import grisaille as gs
x = gs.Variable("x", lower=0, upper=1)
f = gs.BlackBox(lambda x: x, name="f", noise=0)
result = gs.Problem(minimize=f(x)).solve(1, progress=False)
for wrong in ("result.best", "result.history.trials[0].params", "result.plot(ax=1)"):
    try:
        eval(wrong)
    except (AttributeError, TypeError) as error:
        print(error)
"""
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert shown.stdout.splitlines() == [
        "Result has no best: write result.fun for the value, result.x for the point",
        "Trial has no params: write trial.x",
        "Result.plot has no ax=: write axes=...",
    ]


def test_signatures_and_pickles_are_those_of_the_functions_themselves():
    assert "subject_to" in inspect.signature(gs.Problem).parameters
    assert list(inspect.signature(gs.Problem.solve).parameters)[:3] == ["self", "trials", "x0"]
    assert pickle.loads(pickle.dumps(gs.compare)) is gs.compare
    assert pickle.loads(pickle.dumps(gs.Matern(1.5))) == gs.Matern(1.5)


def test_a_type_error_inside_a_call_stays_what_it_is():
    def mistaken(trial: gs.Trial) -> None:
        raise TypeError("of the user's own")

    with pytest.raises(TypeError, match=r"^of the user.s own"):
        PROBLEM.solve(1, strategy=gs.RandomSearch(), callback=mistaken, progress=False)


def test_an_attribute_that_raises_is_not_said_to_be_missing():
    class Own(gs.Strategy):
        @property
        def option(self) -> int:
            return self.missing_part  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="Own has no missing_part"):
        Own().option  # noqa: B018
    assert not hasattr(X, "_repr_png_")
