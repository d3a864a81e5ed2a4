"""A sample of the wrong inputs of the interface; `python -m benchmarks.wrong_inputs` tries all."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from benchmarks.wrong_inputs.outcome import (
    ACCEPTED,
    RAW,
    REFUSED,
    UNCLEAR,
    WrongCall,
    outcome,
    places,
)
from benchmarks.wrong_inputs.place import Place, place
from benchmarks.wrong_inputs.wrong_values import VALUES, WrongValue

import grisaille as gs
from grisaille.errors import ModelError

pytestmark = pytest.mark.slow


PLACES = places()
NAMES = {p.name for p in PLACES}
# Each place is tried with every third value, each value at every third place.
EVERY = 3

# What the library itself makes, and what takes no arguments.
RECORDS = {
    *("Assurance", "BoxCalibration", "CausalModel", "Certificate", "Constraint", "Do"),
    *("Expression", "Failure", "History", "Observation", "Query", "Result", "Status", "Trial"),
    *("Bound", "Incumbent", "Probe", "Situation", "Strategy", "Suggestion", "Comparison"),
    *("GrisailleWarning", "TrialKind", "Declared", "RandomSearch", "SobolSearch", "problems"),
    *("black_box", "white_box"),
}
CALLABLE = {
    name: getattr(gs, name)
    for name in gs.__all__
    if name not in RECORDS and not name.startswith("_") and not name.endswith("Error")
}
METHODS: dict[str, Any] = {
    f"{owner.__name__}.{name}": getattr(owner, name)
    for owner, names in {
        gs.Problem: ("solve", "diagram"),
        gs.Study: (
            *("ask", "tell", "correct", "retract", "enqueue", "fail", "release", "observe"),
            *("run", "replay", "box", "answers", "predict", "model", "ask_sheet", "tell_sheet"),
        ),
        gs.Result: (
            *("metrics", "plot", "guarantee", "discrepancy_bounds", "report"),
            *("plot_slices", "plot_calibration", "plot_constraints", "plot_sensitivity"),
            *("regret_bound", "violation_bounds", "best_iterate_bound", "predict", "model"),
        ),
        gs.Generator: ("suggest", "ingest"),
        gs.Knowledge: ("predict", "draw"),
        gs.Comparison: ("plot", "save"),
        gs.Guarantee: ("regret", "violations", "best_iterate", "infeasible_by"),
    }.items()
    for name in names
}


@pytest.mark.parametrize("number", range(len(PLACES)), ids=lambda number: PLACES[number].name)
def test_wrong_values_are_refused_with_a_readable_sentence(number: int):
    where = PLACES[number]
    calls = [
        WrongCall(where, value)
        for position, value in enumerate(VALUES)
        if value.kind not in where.right and (position + number) % EVERY == 0
    ]
    assert calls
    found = {call.name: outcome(call) for call in calls}
    assert {name: ended for name, ended in found.items() if ended.kind != REFUSED} == {}


@pytest.mark.parametrize("name", sorted({*CALLABLE, *METHODS}))
def test_every_argument_of_the_interface_is_a_place(name: str):
    called = METHODS[name] if name in METHODS else CALLABLE[name]
    parameters = inspect.signature(called).parameters.values()
    names = [
        p.name
        for p in parameters
        if p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    assert [n for n in names if not {f"{name}({n}=)", f"{name}({n})"} & NAMES] == []


def _refusing(message: str) -> Place:
    def refuse(_: object) -> object:
        raise ModelError(message)

    return place("f(size=)", refuse)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (place("f(size=)", lambda v: v), ACCEPTED),
        (place("f(size=)", lambda v: int(v) + "1"), RAW),
        (_refusing("size: pass a number"), REFUSED),
        (_refusing("pass something other than 'abc'"), REFUSED),
        (_refusing("this is wrong"), UNCLEAR),
        (_refusing("size \x1b[2J"), UNCLEAR),
        (_refusing("size " * 1000), UNCLEAR),
    ],
)
def test_only_a_readable_error_of_grisaille_that_names_the_argument_or_the_value_counts(
    where: Place, expected: str
):
    value = WrongValue("'abc'", "text", lambda: "abc")
    assert outcome(WrongCall(where, value)).kind == expected
