"""Fingerprints: the same problem gives the same lines everywhere, and every change shows."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import grisaille as gs
from grisaille import problems
from grisaille.language import operations
from grisaille.language.expression import Constant
from grisaille.language.fingerprint import difference, fingerprint

pytestmark = pytest.mark.slow


def plant(
    *,
    name: str = "x",
    lower: Any = -2,
    upper: Any = (2, 3),
    box: dict[str, Any] | None = None,
    box_name: str = "h",
    white: dict[str, Any] | None = None,
    constant: float = 0.1,
    weights: Any = (1.0, -2.0),
    operation: Callable[[Any], Any] = np.sin,
    index: Any = 1,
    axis: int = 0,
    sense: str = "minimize",
    constraints: Callable[[Any, Any], list[Any]] = lambda x, y: [y[0] <= 1, x[1] >= 0],
    turned: bool = False,
) -> gs.Problem:
    """A problem in which any single thing can be changed."""
    x = gs.Variable(name, 2, lower=lower, upper=upper)
    h = gs.BlackBox(lambda u: [0.0, 0.0], name=box_name, **({"outputs": 2} | (box or {})))
    w = gs.white_box(lambda u: float(u), **({"name": "w"} | (white or {})))
    y = h(x)
    goal = np.array(weights) @ y + Constant(constant) * w(operation(x[index]))
    goal = goal + np.sum(np.stack([x, y]) ** 2, axis=axis)[0]
    goal = goal - x[0] if turned else x[0] - goal
    options: dict[str, Any] = {sense: goal}
    return gs.Problem(**options, subject_to=constraints(x, y))


CHANGES: dict[str, dict[str, Any]] = {
    "the last bit of a bound": {"lower": np.nextafter(-2.0, 0)},
    "one entry of a bound": {"upper": (2, 4)},
    "the sign of a zero bound": {"upper": (-0.0, 3)},
    "a zero bound": {"upper": (0.0, 3)},
    "the name of a variable": {"name": "z"},
    "the last bit of a constant": {"constant": np.nextafter(0.1, 1)},
    "a zero constant": {"constant": 0.0},
    "the sign of a zero constant": {"constant": -0.0},
    "an infinite constant": {"constant": np.inf},
    "the sign of an infinite constant": {"constant": -np.inf},
    "the last bit of an array": {"weights": (1.0, np.nextafter(-2.0, 0))},
    "the shape of an array": {"weights": [[1.0, -2.0]], "constraints": lambda x, y: []},
    "an operation": {"operation": np.cos},
    "an operation more": {"operation": lambda u: np.sin(u) + 1},
    "an index": {"index": 0},
    "an axis": {"axis": 1},
    "the order of arguments": {"turned": True},
    "the sense": {"sense": "maximize"},
    "the order of constraints": {"constraints": lambda x, y: [x[1] >= 0, y[0] <= 1]},
    "the direction of a constraint": {"constraints": lambda x, y: [y[0] >= 1, x[1] >= 0]},
    "one constraint more": {"constraints": lambda x, y: [y[0] <= 1, x[1] >= 0, y[1] <= 0]},
    "one constraint less": {"constraints": lambda x, y: [y[0] <= 1]},
    "a constraint twice": {"constraints": lambda x, y: [y[0] <= 1, x[1] >= 0, x[1] >= 0]},
    "the name of a black box": {"box_name": "g"},
    "a black box named like an operation": {"box_name": "sin"},
    "names of outputs": {"box": {"outputs": ["a", "b"]}},
    "other names of outputs": {"box": {"outputs": ["a", "c"]}},
    "no noise": {"box": {"noise": 0}},
    "noise": {"box": {"noise": 0.1}},
    "noise per output": {"box": {"noise": [0.1, 0.2]}},
    "a family of kernels": {"box": {"kernel": gs.SquaredExponential()}},
    "another family": {"box": {"kernel": gs.Matern()}},
    "the smoothness of a kernel": {"box": {"kernel": gs.Matern(1.5)}},
    "a sum of kernels": {"box": {"kernel": gs.Matern() + gs.Linear()}},
    "a sum in another order": {"box": {"kernel": gs.Linear() + gs.Matern()}},
    "a product of kernels": {"box": {"kernel": gs.Matern() * gs.Linear()}},
    "a kernel of some inputs": {"box": {"kernel": gs.Matern().on(0) + gs.Linear()}},
    "a kernel of other inputs": {"box": {"kernel": gs.Matern().on(1) + gs.Linear()}},
    "hyper-parameters": {"box": {"noise": 0, "kernel": gs.SquaredExponential(1.0, 2.0)}},
    "a variance": {"box": {"noise": 0, "kernel": gs.SquaredExponential(1.0, 3.0)}},
    "a length-scale": {"box": {"noise": 0, "kernel": gs.SquaredExponential([1.0, 2.0], 2.0)}},
    "a linear kernel": {"box": {"noise": 0, "kernel": gs.Linear(1.0, 2.0)}},
    "a norm bound": {
        "box": {"noise": 0, "kernel": gs.SquaredExponential(1.0, 2.0), "norm_bound": 3}
    },
    "a lower range": {"box": {"lower": 0}},
    "an upper range": {"box": {"upper": 0}},
    "smallest inputs": {"box": {"input_lower": [0, 1]}},
    "largest inputs": {"box": {"input_upper": [0, 1]}},
    "a Lipschitz constant": {"box": {"lipschitz": 2}},
    "Lipschitz constants": {"box": {"lipschitz": [2, 3]}},
    "a matrix of Lipschitz constants": {"box": {"lipschitz": [[2, 3], [4, 5]]}},
    "a direction": {"box": {"monotone": "increasing"}},
    "another direction": {"box": {"monotone": "decreasing"}},
    "directions": {"box": {"monotone": ["increasing", None]}},
    "a matrix of directions": {"box": {"monotone": [["increasing", None], [None, "decreasing"]]}},
    "an own model": {"box": {"model": lambda inputs, outputs: None}},
    "not separable": {"box": {"separable": False}},
    "the name of a white box": {"white": {"name": "v"}},
    "a white box named like an operation": {"white": {"name": "sin"}},
    "the slope of a white box": {"white": {"lipschitz": 1}},
    "an interval of a white box": {"white": {"interval": lambda u: u}},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_problem_built_again_has_the_same_lines(change: str) -> None:
    assert fingerprint(plant(**CHANGES[change])) == fingerprint(plant(**CHANGES[change]))


@pytest.mark.parametrize("change", CHANGES)
def test_a_single_change_changes_the_lines_and_is_named(change: str) -> None:
    old, new = fingerprint(plant()), fingerprint(plant(**CHANGES[change]))
    assert new != old
    assert difference(old, new) != ""
    assert difference(new, old) != ""


def test_no_two_changes_give_the_same_lines() -> None:
    seen = {"\n".join(fingerprint(plant(**change))) for change in CHANGES.values()}
    assert len(seen) == len(CHANGES)


def all_lines() -> list[list[str]]:
    """Fingerprints of many problems, for other processes to make again."""
    closed = [problems.williams_otto(), problems.rosen_suzuki(), problems.ackley()]
    return [
        *(fingerprint(plant(**change)) for change in CHANGES.values()),
        *(fingerprint(known.problem) for known in closed),
    ]


def test_other_processes_with_other_hash_seeds_give_the_same_lines() -> None:
    started = [
        subprocess.Popen(
            [sys.executable, __file__],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
        )
        for seed in ("1", "2")
    ]
    answers = [json.loads(process.communicate()[0]) for process in started]
    assert answers == [all_lines()] * 2


def test_every_known_problem_has_lines_of_its_own_that_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solution = SimpleNamespace(feasible=True, value=0.0, point=torch.zeros(3))
    monkeypatch.setattr(  # the search for the optimum takes seconds and is not asked for
        "grisaille.lab.problems.paper_examples.true_optimum", lambda problem: solution
    )
    drawn = {"additive", "chain", "lp_with_embedded_gp", "shifted_square", "sum_of_squares"}

    def build() -> list[list[str]]:
        lines = []
        for name, make in problems.catalogue().items():
            seeds = [0, 1] if name in drawn else [0]
            lines += [fingerprint(make(seed).problem) for seed in seeds]
        return lines

    lines = build()
    assert len({"\n".join(one) for one in lines}) == len(lines)
    assert build() == lines


def test_the_lines_read_as_an_engineer_would_write_them() -> None:
    x = gs.Variable("x", 2, lower=[-2, -1], upper=2)
    t = gs.Variable("temperature °C", lower=0, upper=1)
    h = gs.BlackBox(
        None,
        name="h",
        outputs=["yield", "cost"],
        noise=0,
        kernel=gs.Matern(1.5, [0.5, 0.25, 1.0], 2.0),
        lower=[0, 1],
        separable=False,
    )
    w = gs.white_box(lambda u: u, name="cheap", outputs=2, lipschitz=3)
    y = h(x, t)
    goal = np.array([1.0, 2.5]) @ w(x) + y["cost"] / 3 - np.sum(x)
    assert fingerprint(gs.Problem(maximize=goal, subject_to=[y <= 5, t >= 0.5])) == [
        "variable x: shape (2,), lower [-2.0, -1.0], upper 2.0",
        'variable "temperature °C": lower 0.0, upper 1.0',
        "black box h: arguments [(2,), ()], outputs [yield, cost], noise 0.0, lower [0.0, 1.0], "
        "kernel Matern(smoothness 1.5, lengthscale [0.5, 0.25, 1.0], variance 2.0), separable no",
        "white box cheap: outputs 2, lipschitz 3.0",
        "#1 = [1.0, 2.5]",
        "#2 = white box cheap(x)",
        "#3 = matmul(#1, #2)",
        '#4 = black box h(x, "temperature °C")',
        "#5 = take(#4, (1,), ())",
        "#6 = divide(#5, 3.0)",
        "#7 = add(#3, #6)",
        "#8 = sum(x, (0,))",
        "#9 = subtract(#7, #8)",
        "#10 = subtract(#4, 5.0)",
        '#11 = subtract(0.5, "temperature °C")',
        "maximize #9",
        "subject to #10 <= 0",
        "subject to #11 <= 0",
    ]


def test_what_is_at_its_default_is_not_mentioned() -> None:
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(None, name="h")(x) + gs.white_box(abs)(x))
    assert fingerprint(problem)[:3] == [
        "variable x: lower 0.0, upper 1.0",
        "black box h: arguments [()]",
        "white box abs",
    ]


def test_the_cost_of_a_box_counts_when_it_is_not_one() -> None:
    def lines(cost: float) -> list[str]:
        x = gs.Variable("x", lower=0, upper=1)
        h = gs.BlackBox(None, name="h")
        vars(h)["cost"] = cost
        return fingerprint(gs.Problem(minimize=h(x)))

    assert lines(1)[1] == "black box h: arguments [()]"
    assert lines(2.5)[1] == "black box h: arguments [()], cost 2.5"


def test_functions_are_not_compared() -> None:
    x = gs.Variable("x", lower=0, upper=1)
    first = gs.BlackBox(np.sin, name="h")(x) + gs.white_box(np.sin, name="w")(x)
    second = gs.BlackBox(None, name="h")(x) + gs.white_box(np.cos, name="w")(x)
    assert fingerprint(gs.Problem(minimize=first)) == fingerprint(gs.Problem(minimize=second))


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"noise": 0.1}, {"noise": [0.1, 0.1]}),
        ({"input_lower": 0}, {"input_lower": [0, 0]}),
        ({"lipschitz": 2}, {"lipschitz": [[2, 2], [2, 2]]}),
        ({"lipschitz": [2, 3]}, {"lipschitz": [[2, 3], [2, 3]]}),
    ],
)
def test_one_number_for_all_is_that_number_for_each(
    short: dict[str, Any], long: dict[str, Any]
) -> None:
    assert fingerprint(plant(box=short)) == fingerprint(plant(box=long))


def test_a_relation_read_from_either_side_is_the_same() -> None:
    x = gs.Variable("x", lower=0, upper=1)
    one, other = (gs.Problem(minimize=x, subject_to=c) for c in (x**2 <= x, x >= x**2))
    assert fingerprint(one) == fingerprint(other)


def test_a_part_written_twice_is_the_same_as_one_that_is_shared() -> None:
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(None, name="h")
    shared = np.exp(h(x))
    once = gs.Problem(minimize=shared * shared)
    assert fingerprint(once) == fingerprint(gs.Problem(minimize=np.exp(h(x)) * np.exp(h(x))))


@pytest.mark.parametrize("declare", [gs.white_box, gs.BlackBox])
def test_one_box_called_twice_is_not_two_boxes(declare: Callable[..., Any]) -> None:
    x = gs.Variable("x", lower=0, upper=1)
    names = ("w", "w") if declare is gs.white_box else ("w", "v")
    first, second = (declare(abs, name=name) for name in names)
    one = fingerprint(gs.Problem(minimize=first(x) + first(x + 1)))
    two = fingerprint(gs.Problem(minimize=first(x) + second(x + 1)))
    turned = fingerprint(gs.Problem(minimize=second(x + 1) + first(x)))
    assert len({"\n".join(lines) for lines in (one, two, turned)}) == 3


def test_white_boxes_that_share_a_name_are_numbered() -> None:
    x = gs.Variable("x", lower=0, upper=1)
    first, second = (gs.white_box(abs, name="w", lipschitz=slope) for slope in (1, 2))
    assert fingerprint(gs.Problem(minimize=first(x) + second(x) - first(x)))[1:5] == [
        "white box w: lipschitz 1.0",
        "white box w (2): lipschitz 2.0",
        "#1 = white box w(x)",
        "#2 = white box w (2)(x)",
    ]


def test_functions_of_one_name_but_three_kinds_are_told_apart() -> None:
    x = gs.Variable("x", lower=0, upper=1)
    kinds = (np.sin, gs.white_box(np.sin, name="sin"), gs.BlackBox(None, name="sin"))
    seen = {"\n".join(fingerprint(gs.Problem(minimize=sin(x)))[-2:]) for sin in kinds}
    assert len(seen) == 3


@pytest.mark.parametrize("name", ["inf", "nan"])
def test_a_variable_is_not_taken_for_a_number(name: str) -> None:
    x, y = (gs.Variable(n, lower=0, upper=1) for n in ("x", name))
    variable = fingerprint(gs.Problem(minimize=x + y, subject_to=y <= x))
    number = fingerprint(gs.Problem(minimize=x + Constant(float(name)), subject_to=y <= x))
    assert f'#1 = add(x, "{name}")' in variable
    assert f"#1 = add(x, {name})" in number


def test_nan_is_written_whatever_its_bits() -> None:
    x = gs.Variable("x", 20, lower=0, upper=1)
    quiet, negative = (np.full(20, value) for value in (np.nan, -np.nan))
    assert quiet.tobytes() != negative.tobytes()
    one, other = (
        fingerprint(gs.Problem(minimize=np.sum(x * Constant(c)) + Constant(c[0])))
        for c in (quiet, negative)
    )
    assert one == other


def test_a_long_array_is_told_by_its_first_entries_its_shape_and_a_digest() -> None:
    def lines(weights: Any, lower: Any = 0) -> list[str]:
        x = gs.Variable("x", 20, lower=lower, upper=1)
        return fingerprint(gs.Problem(minimize=np.sum(weights * x[::-1])))

    weights, bounds = np.arange(20.0), -np.arange(20.0)
    old = lines(weights)
    assert old[:3] == [
        "variable x: shape (20,), lower 0.0, upper 1.0",
        "#1 = [0.0, 1.0, 2.0, ... shape (20,), blake2b e3e756b5d5b36f28]",
        "#2 = take(x, (19, 18, 17, ... 20 in all, blake2b d5da539f9b91a909), (20,))",
    ]
    assert lines(weights[:, None] @ np.ones((1, 1))) != old
    weights[-1] = np.nextafter(weights[-1], 0)
    assert lines(weights) != old
    assert lines(np.arange(20.0), bounds)[0] != old[0]
    assert lines(np.asfortranarray(np.ones((20, 20)))) == lines(np.ones((20, 20)))


def test_an_empty_array_keeps_its_shape() -> None:
    x = gs.Variable("x", 3, lower=0, upper=1)
    lines = fingerprint(gs.Problem(minimize=np.sum(np.zeros((0, 3)) * x) + x[0]))
    assert lines[1] == "#1 = [shape (0, 3)]"


def test_thousands_of_steps_make_no_trouble() -> None:
    def lines(start: float, end: float) -> list[str]:
        x = gs.Variable("x", lower=0, upper=1)
        value: gs.Expression = x + start
        for _ in range(3000):
            value = np.sin(value)  # type: ignore[assignment]
        return fingerprint(gs.Problem(minimize=value + end))

    assert difference(lines(1, 2), lines(3, 4)).splitlines() == [
        "- #1 = add(x, 1.0)",
        "+ #1 = add(x, 3.0)",
        "- #3002 = add(#3001, 2.0)",
        "+ #3002 = add(#3001, 4.0)",
    ]


STORED_NAMES = """
abs add arccos arccosh arcsin arcsinh arctan arctan2 arctanh ceil cos cosh divide exp expm1
floor join log log10 log1p log2 matmul max maximum min minimum multiply negative norm power prod
reciprocal sign sin sinh sqrt square subtract sum take tan tanh where
"""


def test_operations_keep_the_names_that_are_stored_and_share_none() -> None:
    names = [atom.name for atom in vars(operations).values() if isinstance(atom, operations.Atom)]
    assert len(set(names)) == len(names)
    assert set(names) >= set(STORED_NAMES.split())


# Control characters, halves of characters and ends of lines are refused in names.
NAMES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=50)


@given(st.lists(NAMES, min_size=2, max_size=2, unique=True))
@settings(max_examples=60)
def test_names_of_any_characters_stay_apart_and_on_one_line(names: list[str]) -> None:
    def lines(name: str, other: str) -> list[str]:
        x, y = (gs.Variable(n, lower=0, upper=1) for n in (name, other))
        h = gs.BlackBox(None, name=name, outputs=[other, name])
        w = gs.white_box(abs, name=other)
        return fingerprint(gs.Problem(minimize=h(x, y)[0] + w(y)))

    one, other = lines(*names), lines(*reversed(names))
    assert one != other
    assert "\n".join(one).encode().decode().splitlines() == one
    assert difference(one, one) == ""
    assert difference(one, other) != ""


NUMBERS = st.floats(-1e300, 1e300)


@given(NUMBERS, NUMBERS)
@settings(max_examples=60)
def test_numbers_are_told_apart_exactly_when_their_bits_are(first: float, second: float) -> None:
    x = gs.Variable("x", lower=0, upper=1)
    one, other = (fingerprint(gs.Problem(minimize=x * number)) for number in (first, second))
    assert (one == other) == (first.hex() == second.hex())


STEPS = st.lists(
    st.tuples(st.sampled_from("+-*/hwsct"), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=9,
)


def recorded(steps: list[tuple[str, int, int]]) -> gs.Problem:
    """Each step takes two of the values so far."""
    h, w = gs.BlackBox(None, name="h"), gs.white_box(abs, name="w")
    do: dict[str, Callable[[Any, Any], Any]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / 2,
        "h": h,
        "w": w,
        "s": lambda a, b: np.sin(a),
        "c": lambda a, b: np.cos(b),
        "t": lambda a, b: np.stack([a, b])[1] if a is b else np.sum(np.stack([a, b])),
    }
    values: list[Any] = [gs.Variable(name, lower=0, upper=1) for name in "xy"]
    for name, i, j in steps:
        values.append(do[name](values[i % len(values)], values[j % len(values)]))
    return gs.Problem(minimize=values[-1], subject_to=[values[-2] <= 1])


def tree(problem: gs.Problem) -> list[Any]:
    """What a problem computes, written out without sharing and without numbers."""

    def written(expression: gs.Expression) -> Any:
        kind = getattr(expression, "atom", None) or getattr(expression, "box", expression)
        value = getattr(expression, "value", None)
        what = str(value) if value is not None else str(getattr(kind, "name", ""))
        return (type(expression).__name__, what, *map(written, expression.arguments))

    return [written(problem.objective), *(written(c.body) for c in problem.constraints)]


@given(STEPS, STEPS)
@settings(max_examples=60)
def test_lines_are_equal_exactly_when_the_formulas_are(
    first: list[tuple[str, int, int]], second: list[tuple[str, int, int]]
) -> None:
    for steps, others in itertools.product((first, second, first[:-1] + second[-1:]), repeat=2):
        one, other = recorded(steps), recorded(others)
        same = tree(one) == tree(other)
        assert (fingerprint(one) == fingerprint(other)) == same
        assert (difference(fingerprint(one), fingerprint(other)) == "") == same


# --- differences -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"lower": -1}, ["variable x: lower -2.0 -> -1.0"]),
        (
            {"lower": (0, 1), "upper": 4},
            ["variable x: lower -2.0 -> [0.0, 1.0], upper [2.0, 3.0] -> 4.0"],
        ),
        (
            {"box": {"noise": 0, "outputs": ["a", "b, c"]}},
            ['black box h: outputs 2 -> [a, "b, c"], noise (default) -> 0.0'],
        ),
        (
            {"box": {"kernel": gs.Matern(1.5)}},
            ["black box h: kernel (default) -> Matern(smoothness 1.5)"],
        ),
        (
            {"box": {"kernel": gs.Matern(1.5).on(0, 2) + gs.Linear()}},
            [
                "black box h: kernel (default) -> Sum(parts [Restricted(kernel Matern(smoothness "
                "1.5), inputs [0.0, 2.0]), Linear])"
            ],
        ),
        ({"white": {"lipschitz": 2}}, ["white box w: lipschitz (default) -> 2.0"]),
        ({"sense": "maximize"}, ["- minimize #16", "+ maximize #16"]),
        ({"operation": np.cos}, ["- #6 = sin(#5)", "+ #6 = cos(#5)"]),
        ({"constant": 0.25}, ["- #8 = multiply(0.1, #7)", "+ #8 = multiply(0.25, #7)"]),
        (
            {"operation": lambda u: np.sin(u) + 1},
            [
                "+ #7 = add(#6, 1.0)",
                "- #7 = white box w(#6)",
                "+ #8 = white box w(#7)",
            ],
        ),
        (
            {"constraints": lambda x, y: [y[0] <= 1, y[1] <= 7, x[1] >= 0]},
            [
                "+ #19 = take(#3, (1,), ())",
                "+ #20 = subtract(#19, 7.0)",
                "+ subject to #20 <= 0",
            ],
        ),
    ],
)
def test_a_difference_names_what_changed_and_nothing_else(
    change: dict[str, Any], expected: list[str]
) -> None:
    assert difference(fingerprint(plant()), fingerprint(plant(**change))).splitlines() == expected


def test_equal_lines_have_no_difference() -> None:
    assert difference(fingerprint(plant()), fingerprint(plant())) == ""


def test_a_long_difference_says_how_much_it_leaves_out() -> None:
    old = [f"variable x{i}: lower 0.0, upper 1.0" for i in range(33)]
    new = [f"variable x{i}: lower 0.0, upper 2.0" for i in range(33)]
    lines = difference(old, new).splitlines()
    assert lines[0] == "variable x0: upper 1.0 -> 2.0"
    assert len(lines) == 21
    assert lines[-1] == "... and 13 more"
    assert len(difference(old, new, longest=33).splitlines()) == 33


def test_a_step_that_reads_a_lost_one_is_shown() -> None:
    old = ["#1 = sin(x)", "#2 = cos(x)", "#3 = exp(#1)", "minimize #3"]
    new = ["#1 = cos(x)", "#2 = exp(#1)", "minimize #2"]
    assert difference(old, new).splitlines() == [
        "- #1 = sin(x)",
        "- #3 = exp(#1)",
        "+ #2 = exp(#1)",
    ]


LINES = st.lists(
    st.sampled_from(
        [
            "",
            "#",
            "#1",
            "#1 = ",
            "#2 = add(#1, x)",
            "#3 = add(#1, x)",
            "minimize #2",
            "variable",
            "variable x",
            "variable x: a 1, a 2",
            "variable x: a 2, a 2",
            'variable "x: ,',
        ]
    ),
    max_size=5,
)


@given(LINES, LINES)
def test_texts_of_any_kind_differ_exactly_when_they_are_not_equal(
    old: list[str], new: list[str]
) -> None:
    assert (difference(old, new) == "") == (old == new)


if __name__ == "__main__":
    print(json.dumps(all_lines()))


def test_steps_and_logarithms_count_and_are_not_mentioned_where_there_are_none() -> None:
    def lines(**options: Any) -> list[str]:
        x = gs.Variable("x", lower=1, upper=10, **options)
        return fingerprint(gs.Problem(minimize=x))

    plain = lines()
    assert lines(step=None, log=False) == plain
    assert not any("step" in line or "log" in line for line in plain)
    every = [plain, lines(step=0.5), lines(step=1), lines(log=True), lines(step=0.5, log=True)]
    assert len({tuple(found) for found in every}) == 5
    assert "step" in difference(plain, lines(step=0.5))


def test_labels_and_whole_numbers_belong_to_the_problem():
    def lines(labels: list[str]) -> list[str]:
        return fingerprint(gs.Problem(minimize=1.0 * (gs.Choice("c", labels) == "A")))

    assert lines(["A", "B"])[0] == "variable c: lower 0.0, upper 1.0, step 1.0, labels [A, B]"
    assert lines(["A", "B"]) != lines(["A", "C"])
    whole = fingerprint(gs.Problem(minimize=gs.Integer("n", lower=0, upper=5)))
    steps = fingerprint(gs.Problem(minimize=gs.Variable("n", lower=0, upper=5, step=1)))
    assert whole[0] == "variable n: lower 0.0, upper 5.0, step 1.0, whole True"
    assert whole != steps
