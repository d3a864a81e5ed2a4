"""Places of solving: `Problem.solve`, studies, results, generators, commands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import grisaille as gs
from benchmarks.wrong_inputs.language_places import problem_of, simple
from benchmarks.wrong_inputs.place import (
    ANY_TEXT,
    COUNT,
    FINITE,
    FLAG,
    FUNCTION,
    NONE,
    NOT_NEGATIVE,
    NOTHING,
    NUMBER,
    POSITIVE,
    SEED,
    TEXT,
    VECTOR,
    Place,
    place,
)

_POINTS = COUNT | {"none", "zero"}
# Without an id a result adds answers that were made elsewhere; 1 is the id of the first point.
_NO_ID = {"none", "nan", "one"}
_POINT = {"zero", "one", "fraction", "tiny"}  # between the bounds of all problems here
_OBSERVABLE = NUMBER | {"none", "nan", "list of none"}  # no number: the evaluation failed
_SEARCH = gs.RandomSearch()


@functools.cache
def _problem() -> gs.Problem:
    return problem_of()


def _study(**options: Any) -> gs.Study:
    return gs.Study(options.pop("problem", _problem()), **{"strategy": _SEARCH, **options})


def _solve(problem: Any = None, **options: Any) -> object:
    quick = {"trials": 2, "strategy": _SEARCH, "progress": False}
    return (problem or _problem()).solve(**{**quick, **options})


def _without_boxes(**options: Any) -> object:
    x = gs.Variable("x", lower=0, upper=1)
    return gs.Problem(minimize=(x - 0.5) ** 2).solve(**options)


def _told(**options: Any) -> object:
    study = _study()
    (query,) = study.ask()
    return study.tell(**{"query": query, "value": 0.5, **options})


def _asked(act: Callable[[gs.Study, gs.Query], object]) -> object:
    study = _study()
    (query,) = study.ask()
    return act(study, query)


def _named(value: Any) -> object:
    """An answer with several outputs is told."""
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(None, name="f", outputs=["a", "b"], noise=0)(x)
    study = _study(problem=gs.Problem(minimize=y[0] + y[1]))
    (query,) = study.ask()
    return study.tell(query, value)


@functools.cache
def _run() -> gs.Study:
    study = _study()
    study.run(3, progress=False)
    return study


@functools.cache
def _result() -> gs.Result:
    """Of a study in theory mode, which knows every bound on regret."""
    kernel = gs.Matern(lengthscale=2.0, variance=1.0)
    x = gs.Variable("x", lower=0, upper=1)
    y = simple(kernel=kernel, norm_bound=2.0)(x)
    problem = gs.Problem(minimize=y, subject_to=[y <= 2])
    rule = gs.Theory(horizon=2, regularization=1e-4)
    strategy = gs.Optimistic(beta=rule, solver=gs.Grid(5))
    return problem.solve(2, strategy=strategy, progress=False)


def _guarantee(**options: Any) -> gs.Guarantee:
    usual: dict[str, Any] = {"problem": _result().problem, "theory": _result().strategy.beta}
    return gs.Guarantee(**{**usual, **options})


_LIMITS: dict[str, set[str]] = {
    "trials": COUNT | NONE,
    "timeout": NOT_NEGATIVE | NONE,
    "gap_tol": NOT_NEGATIVE | NONE,
    "stop_if_infeasible": FLAG,
    "max_cost": NOT_NEGATIVE | NONE,
    "executor": NONE,
    "workers": COUNT | NONE,
    "callback": FUNCTION | NONE,
    "progress": FLAG | NONE,
    "dashboard": FLAG,
}
# Inside the bounds of the only variable: one point, or several.
_INSIDE = {"zero", "one", "fraction", "tiny", "whole", "above one"} | VECTOR
_SETTINGS: dict[str, set[str]] = {
    "strategy": {"none", "strategy"},
    "seed": SEED | NONE,
    "evaluation": NONE,
    "confidence": {"fraction", "tiny", "none"},
}


def _with(call: Callable[..., object], argument: str) -> Callable[[Any], object]:
    return lambda value: call(**{argument: value})


def _ran(**options: Any) -> object:
    return _study().run(**{"trials": 2, "progress": False, **options})


def solve_places() -> list[Place]:
    """Places of `Problem.solve`, and of `Study` and its `run`."""
    everything = {**_SETTINGS, **_LIMITS}
    stored = {"problem": {"problem"}, "retries": COUNT | {"zero"}, "allow_changes": FLAG}
    texts = {"name": TEXT | {"none", "lines"}, "storage": NONE}
    study = {**{a: right | NONE for a, right in _SETTINGS.items()}, **stored, **texts}
    return [
        *(
            place(f"Problem.solve({argument}=)", _with(_solve, argument), right)
            for argument, right in everything.items()
        ),
        place("Problem.solve(x0=)", _with(_solve, "x0"), _INSIDE | NONE),
        place("known problem.solve(x0=)", _with(_without_boxes, "x0"), _INSIDE | NONE),
        *(
            place(f"known problem.solve({argument}=)", _with(_without_boxes, argument), right)
            for argument, right in everything.items()
        ),
        *(
            place(f"Study({argument}=)", _with(_study, argument), right)
            for argument, right in study.items()
        ),
        *(
            place(f"Study.run({argument}=)", _with(_ran, argument), right)
            for argument, right in _LIMITS.items()
        ),
    ]


def study_places() -> list[Place]:
    """Places of the methods of a study."""
    query, box = ("query",), ("black box",)
    return [
        place("Study.ask(n=)", lambda v: _asked(lambda s, q: s.ask(v)), COUNT, "ask"),
        place("Study.ask(trials=)", lambda v: _study().ask(trials=v), COUNT | NONE),
        place("Study.ask(lease=)", lambda v: _study().ask(lease=v), POSITIVE | NONE),
        place("Study.ask_sheet(n=)", lambda v: _asked(lambda s, q: s.ask_sheet(v)), COUNT, "ask"),
        place("Study.ask_sheet(trials=)", lambda v: _study().ask_sheet(trials=v), COUNT | NONE),
        place("Study.ask_sheet(lease=)", lambda v: _study().ask_sheet(lease=v), POSITIVE | NONE),
        place("Study.ask_sheet(pending=)", lambda v: _study().ask_sheet(pending=v), FLAG),
        place("Study.tell_sheet(sheet=)", lambda v: _study().tell_sheet(v), (), "sheet"),
        place("Study.tell(query=)", lambda v: _told(query=v), (), *query),
        place("Study.tell(value=)", lambda v: _told(value=v), FINITE, "returned"),
        place("Study.tell(value=) by name", _named, {"series"}, "returned"),
        # A dictionary holds what was different, which may be nothing.
        place("Study.tell(inputs=)", lambda v: _told(inputs=v), FINITE | NONE | {"dictionary"}),
        place("Study.correct(query=)", lambda v: _run().correct(v, 0.5), (), *query),
        place("Study.correct(value=)", lambda v: _run().correct("1-1", v), FINITE, "returned"),
        place(
            "Study.correct(inputs=)",
            lambda v: _run().correct("1-1", 0.5, inputs=v),
            FINITE | NONE | {"dictionary"},
        ),
        place("Study.retract(query=)", lambda v: _run().retract(v), (), *query, "answer"),
        place("Study.retract(reason=)", lambda v: _study().retract("1-1", v), ANY_TEXT),
        place("Study.enqueue(points)", lambda v: _study().enqueue(v), _INSIDE, "enqueue"),
        place("Study.enqueue(x=)", lambda v: _study().enqueue(x=v), _INSIDE),
        place("Study.answers(box=)", lambda v: _study().answers(v), NONE, *box),
        place("Study.tell(seconds=)", lambda v: _told(seconds=v), NOT_NEGATIVE | NONE),
        place("Study.fail(query=)", lambda v: _study().fail(v, "why"), (), *query),
        place("Study.fail(reason=)", lambda v: _asked(lambda s, q: s.fail(q, v)), ANY_TEXT),
        place("Study.fail(retry=)", lambda v: _asked(lambda s, q: s.fail(q, "why", retry=v)), FLAG),
        place("Study.release(query=)", lambda v: _study().release(v), (), *query),
        place("Study.observe(box=)", lambda v: _study().observe(v, [1.0], [2.0]), (), *box),
        place("Study.observe(inputs=)", lambda v: _study().observe("f", v, [1.0]), FINITE, "input"),
        place(
            "Study.observe(outputs=)", lambda v: _study().observe("f", [1.0], v), FINITE, "output"
        ),
        place(
            "Study.observe(table)",
            lambda v: _study().observe("f", v),
            (),
            "outputs",
            "column",
            "inputs",
        ),
        place("Study.replay(trial=)", lambda v: _run().replay(v), COUNT, "replay"),
        place("Study.box(box=)", lambda v: _study().box(v), (), *box),
        place(
            "Study.predict(x=)",
            lambda v: _run().predict(v),
            _POINT | COUNT | VECTOR | {"above one"},
        ),
        place("Study.predict(expression=)", lambda v: _run().predict(0.5, v), NONE),
        place("Study.model(box=)", lambda v: _run().model(v), (), *box),
        place(
            "Study.model(...).predict(inputs)",
            lambda v: _run().model("f").predict(v),
            FINITE | VECTOR,
        ),
        place(
            "Study.release_trials(numbers)",
            lambda v: _study().release_trials(v),
            NOTHING,
            "trial",
        ),
        place(
            "Study.tell_trials(told)",
            lambda v: _study().tell_trials(v),
            NOTHING,
            "answers",
        ),
        place("Generator(study=)", gs.Generator, (), "Generator"),
        place(
            "Generator.suggest(num_points=)", lambda v: _generator().suggest(v), _POINTS, "suggest"
        ),
        place("Generator.ingest(results=)", lambda v: _generator().ingest(v), NOTHING),
        place("Generator.ingest([result])", lambda v: _generator().ingest([v]), (), "result"),
        place("Generator.ingest([{_id:}])", lambda v: _ingested(_id=v), _NO_ID, "_id"),
        place("Generator.ingest([{f:}])", lambda v: _ingested(f=v), _OBSERVABLE, "f"),
        place("Generator.ingest([{x:}])", lambda v: _ingested(x=v), (), "x"),
        place(
            "command(template=)",
            lambda v: gs.command(v),
            ANY_TEXT,
            "command",
        ),
        place("command(directory=)", lambda v: gs.command("cat", directory=v), NONE),
        place(
            "command(...)(value)",
            lambda v: gs.command("cat")(v),
            FINITE | VECTOR | NOTHING | {"matrix", "cube"},
            "called",
        ),
    ]


def _generator() -> gs.Generator:
    return gs.Generator(_study(evaluation="chained"))


def _ingested(**result: Any) -> object:
    generator = _generator()
    (point,) = generator.suggest(1)
    return generator.ingest([{**point, "f": 0.5, **result}])


def result_places() -> list[Place]:
    """Places of results and guarantees."""
    count = ("trials",)
    return [
        place(
            "Result.predict(expression=)",
            lambda v: _result().predict(v, 0.5),
            (),
            "expression",
        ),
        place(
            "Result.predict(x=)",
            lambda v: _result().predict(_result().problem.objective, v),
            _POINT | NONE,
        ),
        place("Result.model(box=)", lambda v: _result().model(v), (), "black box"),
        place("result[...]", lambda v: _result()[v], (), "result"),
        place("Result.metrics(optimum=)", lambda v: _result().metrics(v), FINITE),
        place("Result.plot(path=)", lambda v: _result().plot(v), TEXT | {"none", "lines"}),
        place("Result.plot(axes=)", lambda v: _result().plot(axes=v), NONE),
        place("Result.plot(against=)", lambda v: _result().plot(against=v), ()),
        place("Result.plot(scale=)", lambda v: _result().plot(scale=v), ()),
        *_picture_places(),
        place(
            "Result.report(path=)",
            lambda v: _result().report(v),
            TEXT | {"lines"},
            "path",
            "report",
        ),
        place("Result.report(name=)", lambda v: _result().report("r.html", name=v), TEXT),
        place("Result.guarantee(form=)", lambda v: _result().guarantee(v), ()),
        place("Result.discrepancy_bounds(form=)", lambda v: _result().discrepancy_bounds(v), ()),
        place("Result.regret_bound(form=)", lambda v: _result().regret_bound(v), ()),
        place("Result.violation_bounds(form=)", lambda v: _result().violation_bounds(v), ()),
        place("Result.best_iterate_bound(form=)", lambda v: _result().best_iterate_bound(v), ()),
        place("Result.regret_bound(realized=)", lambda v: _result().regret_bound(realized=v), FLAG),
        place(
            "Result.violation_bounds(realized=)",
            lambda v: _result().violation_bounds(realized=v),
            FLAG,
        ),
        place(
            "Result.best_iterate_bound(realized=)",
            lambda v: _result().best_iterate_bound(realized=v),
            FLAG,
        ),
        place("Guarantee(problem=)", lambda v: _guarantee(problem=v), (), "problem", "theory"),
        place("Guarantee(theory=)", lambda v: _guarantee(theory=v), ()),
        place("Guarantee(form=)", lambda v: _guarantee(form=v), ()),
        place("Guarantee(evaluation=)", lambda v: _guarantee(evaluation=v), ()),
        place("Guarantee(given=)", lambda v: _guarantee(given=v), {"empty"}),
        place("Guarantee.regret(trials=)", lambda v: _guarantee().regret(v), COUNT, *count),
        place("Guarantee.violations(trials=)", lambda v: _guarantee().violations(v), COUNT, *count),
        place(
            "Guarantee.best_iterate(trials=)", lambda v: _guarantee().best_iterate(v), COUNT, *count
        ),
        place(
            "Guarantee.infeasible_by(margin=)", lambda v: _guarantee().infeasible_by(v), POSITIVE
        ),
        place(
            "Guarantee.infeasible_by(constraint=)",
            lambda v: _guarantee().infeasible_by(0.5, v),
            {"zero"},
        ),
    ]


def _picture_places() -> list[Place]:
    """Places of the other pictures of a result."""
    places = []
    for name in ("plot_slices", "plot_calibration", "plot_constraints", "plot_sensitivity"):
        arguments = {"axes": NONE, "path": TEXT | {"none", "lines"}}
        if name in ("plot_slices", "plot_calibration"):
            arguments |= {"box": NONE, "output": {"zero"}}
        if name == "plot_calibration":
            arguments["output"] = {"zero", "none"}
        places += [
            place(
                f"Result.{name}({argument}=)",
                lambda v, name=name, argument=argument: getattr(_result(), name)(**{argument: v}),
                right,
                argument,
                *(("black box",) if argument == "box" else ()),
            )
            for argument, right in arguments.items()
        ]
    for name in ("plot_slices", "plot_calibration"):
        places.append(
            place(
                f"Result.{name}('f', output=)",
                lambda v, name=name: getattr(_result(), name)("f", v),
                {"zero", "none"} if name == "plot_calibration" else {"zero"},
                "output",
            )
        )
    return places


def _compared(**options: Any) -> object:
    usual: dict[str, Any] = {"problems": {"a": _problem()}, "strategies": [gs.SobolSearch()]}
    return gs.compare(**{**usual, "seeds": 1, "trials": 2, "progress": False, **options})


@functools.cache
def _comparison() -> gs.Comparison:
    return _compared()


def compare_places() -> list[Place]:
    """Places of `compare` and of what it returns."""
    right: dict[str, set[str]] = {
        "problems": set(),
        "strategies": set(),
        "seeds": COUNT | {"numbers", "range", "set", "generator"},
        "trials": {"whole"},
        "optimum": NONE | {"dictionary"},
        "folder": TEXT | {"none", "lines"},
        "workers": COUNT | NONE,
        "retry": FLAG,
        "replace": FLAG,
        "progress": FLAG | NONE,
    }
    return [
        *(
            place(f"compare({name}=)", _with(_compared, name), kinds)
            for name, kinds in right.items()
        ),
        place("compare(optimum={})", lambda v: _compared(optimum={"a": v}), FINITE),
        place("compare(problems={})", lambda v: _compared(problems={"a": v}), {"problem"}),
        place("compare(strategies={})", lambda v: _compared(strategies={"a": v}), {"strategy"}),
        place("Comparison.plot(path=)", lambda v: _comparison().plot(v), TEXT | {"lines"}),
        place("Comparison.save(folder=)", lambda v: _comparison().save(v), TEXT | {"lines"}),
    ]
