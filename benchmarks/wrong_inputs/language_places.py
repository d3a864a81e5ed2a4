"""Places of the language: variables, expressions, boxes, problems, causal models."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import grisaille as gs
from benchmarks.wrong_inputs.place import (
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
    Place,
    place,
)

_TRUTH = {"true", "false", "numpy truth"}
# As constants beside an expression of three entries; whoever computes with an empty array gets one.
_CONSTANT = NUMBER | _TRUTH | {"numbers", "empty array", "variable", "decimal nan"}
# As constants that nothing is broadcast against.
_ARRAY = _CONSTANT | {"matrix", "cube", "long vector", "range", "series", "truth array", "empty"}
_UNIT = TEXT | NONE | {"blank"}
_SHAPE = COUNT | {"empty", "numbers"}


def _vector() -> gs.Variable:
    return gs.Variable("v", 3, lower=0.1, upper=1)


def _scalar() -> gs.Variable:
    return gs.Variable("x", lower=0, upper=10)


def simple(fn: Any = math.sin, **options: Any) -> gs.BlackBox:
    """A black box of one number."""
    return gs.BlackBox(fn, **{"name": "f", "noise": 0, **options})


def problem_of(**options: Any) -> gs.Problem:
    """A problem with one black box and one constraint."""
    x = _scalar()
    return gs.Problem(**{"minimize": simple()(x), "subject_to": [x <= 5], **options})


def _called(**options: Any) -> object:
    """A black box is declared, and called: some of its options are checked with the first call."""
    return simple(**options)(_scalar())


def _declared_white(**options: Any) -> object:
    return gs.WhiteBox(options.pop("fn", math.sin), **options)(_scalar())


def _given(**options: Any) -> object:
    kernel = gs.Matern(lengthscale=1.0, variance=1.0)
    return _called(**{"kernel": kernel, "noise": 0.1, **options})


def variable_places() -> list[Place]:
    """Places of `gs.Variable` and of expressions."""
    variable = gs.Variable
    options = {"lower": 0, "upper": 10}
    return [
        place("Variable(name=)", lambda v: variable(v, **options), TEXT),
        place("Variable(shape=)", lambda v: variable("x", v, **options), _SHAPE | {"range"}),
        place("Variable(lower=)", lambda v: variable("x", lower=v, upper=10), FINITE),
        place("Variable(upper=)", lambda v: variable("x", lower=-1, upper=v), FINITE),
        place(
            "Variable(3, lower=)",
            lambda v: variable("x", 3, lower=v, upper=10),
            FINITE | {"numbers"},
        ),
        place("Variable(unit=)", lambda v: variable("x", unit=v, **options), _UNIT),
        place(
            "Variable(3, unit=)", lambda v: variable("x", 3, unit=v, **options), _UNIT, "unit", "x"
        ),
        place("named(name=)", lambda v: gs.named(v, _scalar() + 1), TEXT),
        place("named(value=)", lambda v: gs.named("n", v), _ARRAY | {"constraint"}, "expression"),
        place("named(unit=)", lambda v: gs.named("n", _scalar() + 1, unit=v), _UNIT),
        place("Variable(step=)", lambda v: variable("x", **options, step=v), POSITIVE | NONE),
        *_kinds_of_variables(),
        place("Variable(log=)", lambda v: variable("x", lower=1, upper=10, log=v), FLAG),
        *(
            place(name, call, _CONSTANT, "expression", "constant", "shape", "relation")
            for name, call in _OPERATORS.items()
        ),
        place("x[...]", lambda v: _vector()[v], _INDEX, "index", "v"),
        place(
            "x.reshape(shape)",
            lambda v: _vector().reshape(v),
            COUNT | {"none", "negative whole", "empty"},
        ),
        place("x.sum(axis=)", lambda v: _vector().sum(v), _AXIS),
        place("np.max(x, axis=)", lambda v: np.max(_vector(), axis=v), _AXIS),
        place(
            "np.linalg.norm(ord=)",
            lambda v: np.linalg.norm(_vector(), v),
            {*NONE, "one", "whole", "inf"},
        ),
        place("np.where(condition)", lambda v: np.where(v, _vector(), 0.0), {"constraint"}),
        place("constraint & other", lambda v: (_scalar() <= 1) & v, {"constraint"}, "comparison"),
    ]


_LABELS = {"categories", "texts", "text array", "text series"}


def _kinds_of_variables() -> list[Place]:
    """Places of `gs.Integer`, `gs.Unknown` and `gs.Choice`."""
    options = {"lower": 0, "upper": 10}
    places = [
        part
        for kind in (gs.Integer, gs.Unknown)
        for part in (
            place(f"{kind.__name__}(name=)", functools.partial(_named_kind, kind), TEXT),
            place(
                f"{kind.__name__}(shape=)",
                functools.partial(kind, "x", **options),
                _SHAPE | {"range"},
            ),
            place(
                f"{kind.__name__}(lower=)", functools.partial(_bounded_kind, kind, "lower"), FINITE
            ),
            place(
                f"{kind.__name__}(upper=)", functools.partial(_bounded_kind, kind, "upper"), FINITE
            ),
            place(f"{kind.__name__}(unit=)", functools.partial(_unit_kind, kind), _UNIT),
        )
    ]
    labels = ["A", "B"]
    return [
        *places,
        place(
            "Unknown(contraction=)",
            lambda v: gs.Unknown("t", lower=0, upper=1, contraction=v),
            NONE | {"zero", "fraction", "tiny"},
            "contraction",
        ),
        place("Choice(name=)", lambda v: gs.Choice(v, labels), TEXT),
        place("Choice(labels=)", lambda v: gs.Choice("c", v), _LABELS, "labels"),
    ]


def _named_kind(kind: Any, value: Any) -> object:
    return kind(value, lower=0, upper=10)


def _bounded_kind(kind: Any, side: str, value: Any) -> object:
    return kind("x", **{"lower": -1, "upper": 10, side: value})


def _unit_kind(kind: Any, value: Any) -> object:
    return kind("x", unit=value, lower=0, upper=10)


_INDEX = {"zero", "one", "whole", "negative whole", "none", "slice", "numbers", "empty", "true"}
_INDEX |= {"false", "numpy truth", "truth array", "object"}  # Ellipsis is an object
_AXIS = {"none", "zero", "negative whole", "empty"}

_OPERATORS: dict[str, Callable[[Any], object]] = {
    "x + value": lambda v: _vector() + v,
    "x * value": lambda v: _vector() * v,
    "x / value": lambda v: _vector() / v,
    "x ** value": lambda v: _vector() ** v,
    "x % value": lambda v: _vector() % v,
    "x <= value": lambda v: _vector() <= v,
    "x >= value": lambda v: _vector() >= v,
    "np.maximum(x, value)": lambda v: np.maximum(_vector(), v),
    "np.where(c, value, x)": lambda v: np.where(_vector() <= 1, v, _vector()),
    "np.stack([x, value])": lambda v: np.stack([_vector(), v]) if _is_vector(v) else _vector() + v,
}


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3


def box_places() -> list[Place]:
    """Places of black boxes and white boxes."""
    function = FUNCTION
    return [
        place("BlackBox(fn=)", lambda v: gs.BlackBox(v, name="f"), {*function, *NONE}, "function"),
        place("BlackBox(name=)", lambda v: simple(name=v), {*TEXT, *NONE}),
        place("BlackBox(outputs=)", lambda v: simple(outputs=v), {*COUNT, "texts"}),
        place("BlackBox(noise=)", lambda v: _called(noise=v), NOT_NEGATIVE | NONE),
        place("BlackBox(kernel=)", lambda v: _called(kernel=v), {"none", "kernel"}),
        place("BlackBox(norm_bound=)", lambda v: _given(norm_bound=v), POSITIVE | NONE),
        place("BlackBox(lower=)", lambda v: _called(lower=v), NUMBER | NONE),
        place("BlackBox(upper=)", lambda v: _called(upper=v), NUMBER | NONE),
        place("BlackBox(input_lower=)", lambda v: _called(input_lower=v), NUMBER | NONE),
        place("BlackBox(input_upper=)", lambda v: _called(input_upper=v), NUMBER | NONE),
        place("BlackBox(lipschitz=)", lambda v: _called(lipschitz=v), POSITIVE | NONE),
        place("BlackBox(monotone=)", lambda v: _called(monotone=v), {*NONE, "list of none"}),
        place("BlackBox(model=)", lambda v: _called(model=v), {*function, *NONE}),
        place("BlackBox(separable=)", lambda v: _called(separable=v), FLAG | NONE),
        place("BlackBox(timeout=)", lambda v: _called(timeout=v), POSITIVE | NONE),
        place("BlackBox(cost=)", lambda v: _called(cost=v), POSITIVE),
        place("BlackBox(process_noise=)", lambda v: _called(noise=1, process_noise=v), FLAG),
        place("BlackBox(shared_kernel=)", lambda v: _called(shared_kernel=v), FLAG),
        place("BlackBox(unit=)", lambda v: simple(unit=v), _UNIT),
        place(
            "BlackBox(outputs=['a', 'b'], unit=)",
            lambda v: simple(outputs=["a", "b"], unit=v),
            _UNIT | {"texts", "same texts", "dictionary"},
            "unit",
        ),
        place(
            "box(x, value)", lambda v: simple(lambda a, b: a)(_scalar(), v), _ARRAY, "expression"
        ),
        place(
            "white box(x, value)", lambda v: gs.WhiteBox(max)(_scalar(), v), _ARRAY, "expression"
        ),
        place(
            "black_box(fn)",
            lambda v: gs.black_box(v, noise=0),
            {*function, *NONE},
            "function",
            "name",
        ),
        place("WhiteBox(fn=)", lambda v: gs.WhiteBox(v, name="w"), function, "function"),
        place("WhiteBox(name=)", lambda v: _declared_white(name=v), {*TEXT, *NONE}),
        place("WhiteBox(outputs=)", lambda v: _declared_white(outputs=v), {*COUNT, "texts"}),
        place("WhiteBox(vectorized=)", lambda v: _declared_white(vectorized=v), FLAG),
        place("WhiteBox(torch=)", lambda v: _declared_white(torch=v), FLAG),
        place("WhiteBox(gradient=)", lambda v: _declared_white(gradient=v), {*function, *NONE}),
        place("WhiteBox(lipschitz=)", lambda v: _declared_white(lipschitz=v), NOT_NEGATIVE | NONE),
        place("WhiteBox(interval=)", lambda v: _declared_white(interval=v), {*function, *NONE}),
        place("white_box(fn)", lambda v: gs.white_box(v), {*function, *NONE}, "function", "name"),
    ]


def _collapsed(norm_bound: Any) -> object:
    kernel = gs.Matern(lengthscale=1.0, variance=1.0)
    return gs.collapse(problem_of(), kernel=kernel, noise=0.1, norm_bound=norm_bound)


def _tolerant(tolerance: Any) -> object:
    x = _scalar()
    tolerances = {"limit": tolerance}
    return gs.Problem(minimize=x, subject_to={"limit": x >= 1}, feasibility_tol=tolerances)


def problem_places() -> list[Place]:
    """Places of problems, and of what rewrites them."""
    goal = {"variable"}
    return [
        place(
            "Problem(minimize=)",
            lambda v: gs.Problem(minimize=v),
            goal,
            "objective",
            "minimize",
            "expression",
            "constant",
        ),
        place(
            "Problem(maximize=)",
            lambda v: gs.Problem(maximize=v),
            goal,
            "objective",
            "maximize",
            "expression",
            "constant",
        ),
        place(
            "Problem(subject_to=)",
            lambda v: problem_of(subject_to=v),
            NOTHING | {"constraint", "dictionary"},
        ),
        place(
            "Problem(subject_to={})",
            lambda v: problem_of(subject_to={"limit": v}),
            {"constraint"},
            "subject_to",
        ),
        place(
            "Problem(equations=)",
            lambda v: problem_of(equations=v),
            NOTHING | {"dictionary"},
            "equations",
            "equation",
        ),
        place(
            "Problem(feasibility_tol=)",
            lambda v: problem_of(feasibility_tol=v),
            NOT_NEGATIVE | NONE | {"dictionary"},
        ),
        place(
            "Problem(feasibility_tol={})",
            _tolerant,
            NOT_NEGATIVE,
            "feasibility_tol",
        ),
        place(
            "Problem(subject_to=[])",
            lambda v: problem_of(subject_to=[v]),
            {"constraint"},
            "subject_to",
        ),
        place("Problem.diagram(format=)", lambda v: problem_of().diagram(v), ()),
        place("collapse(problem=)", lambda v: gs.collapse(v), {"problem"}),
        place(
            "collapse(noise=)", lambda v: gs.collapse(problem_of(), noise=v), NOT_NEGATIVE | NONE
        ),
        place("collapse(norm_bound=)", _collapsed, POSITIVE | NONE),
        place(
            "collapse(kernel=)", lambda v: gs.collapse(problem_of(), kernel=v), {"none", "kernel"}
        ),
    ]


def _model() -> tuple[gs.Problem, gs.Expression]:
    a = gs.exogenous(lambda: 0.0, name="a", noise=1.0)
    b = gs.BlackBox(lambda a: a, name="b", noise=0.1, process_noise=True)(a)
    y = gs.BlackBox(lambda b: b**2, name="y", noise=0.1, process_noise=True)(b)
    return gs.Problem(minimize=y), b


def _do(**options: Any) -> gs.Do:
    return gs.do(_model()[1], **{"lower": -1, "upper": 10, **options})


def _causal(**options: Any) -> object:
    model, b = _model()
    return gs.causal_problem(model, [gs.do(b, lower=-1, upper=1)], **options)


def _with_column(value: Any) -> object:
    return _causal(observations={"a": [0.0, 1.0], "b": value, "y": [1.0, 2.0]})


def _intervene(value: Any) -> object:
    return gs.intervene(_model()[0], value)


def causal_places() -> list[Place]:
    """Places of the causal language."""
    exogenous = functools.partial(gs.exogenous, name="a", noise=1.0)
    model, _ = _model()
    what = "intervention"
    return [
        place("exogenous(fn=)", lambda v: exogenous(v), {"function", "none", "class"}, "function"),
        place("exogenous(name=)", lambda v: gs.exogenous(name=v, noise=1.0), TEXT),
        place("exogenous(noise=)", lambda v: gs.exogenous(name="a", noise=v), POSITIVE | NONE),
        place("natural(expression)", gs.natural, _ARRAY),
        place("do(target=)", lambda v: gs.do(v, lower=0, upper=1), ()),
        place("do(lower=)", lambda v: _do(lower=v), FINITE),
        place("do(upper=)", lambda v: _do(upper=v), FINITE),
        place("intervene(problem=)", lambda v: gs.intervene(v, _do()), ()),
        place("intervene(dos)", _intervene, (), what, "intervene"),
        place(
            "minimal_interventions(model=)",
            lambda v: gs.minimal_interventions(v, [_do()]),
            (),
            "model",
            "problem",
        ),
        place(
            "minimal_interventions(dos=)",
            lambda v: gs.minimal_interventions(model, v),
            NOTHING,
            what,
        ),
        place(
            "minimal_interventions([do])", lambda v: gs.minimal_interventions(model, [v]), (), what
        ),
        place(
            "causal_problem(model=)",
            lambda v: gs.causal_problem(v, [_do()]),
            (),
            "model",
            "problem",
        ),
        place(
            "causal_problem(interventions=)", lambda v: gs.causal_problem(model, v), (), what, "set"
        ),
        place(
            "causal_problem(interventions=[])",
            lambda v: gs.causal_problem(model, [v]),
            NOTHING,
            "set",
        ),
        place(
            "causal_problem(system=)", lambda v: _causal(system=v), {"none", "class", "black box"}
        ),
        place("causal_problem(runs=)", lambda v: _causal(runs=v), COUNT),
        place("causal_problem(observations=)", lambda v: _causal(observations=v), NONE),
        place("causal_problem(observations={})", _with_column, {"series"}, "column"),
        place("causal_problem(seed=)", lambda v: _causal(seed=v), SEED | NONE),
        place("problems.toy_graph(seed=)", lambda v: gs.problems.toy_graph(v), SEED),
        place("problems.toy_graph(runs=)", lambda v: gs.problems.toy_graph(runs=v), COUNT),
        place(
            "problems.toy_graph(observations=)",
            lambda v: gs.problems.toy_graph(observations=v),
            COUNT | {"zero"},
        ),
        place("problems.ackley_sine(costs=)", lambda v: gs.problems.ackley_sine(v), (), "cost"),
        place("problems.chain(seed=)", lambda v: gs.problems.chain(v), SEED),
        place(
            "KnownProblem.measure(x)",
            lambda v: gs.problems.rosen_suzuki().measure(v),
            (),
            "measured",
        ),
        place(
            "KnownProblem.regret(value)",
            lambda v: gs.problems.rosen_suzuki().regret(v),
            {*NUMBER, "nan"},
        ),
    ]
