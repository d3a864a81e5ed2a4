"""Units on the graph: mistakes are refused, and what engineers write is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.language import unit_check
from grisaille.language.unit_check import shown_units


def quantity(name: str, unit: str | list[str | None] | None, shape: int | tuple[int, ...] = ()):
    return gs.Variable(name, shape, lower=1, upper=2, unit=unit)


class Plant:
    """Variables and outputs in all kinds of units."""

    def __init__(self) -> None:
        self.length, self.time = quantity("length", "m"), quantity("time", "s")
        self.kelvin, self.celsius = quantity("kelvin", "K"), quantity("celsius", "degC")
        self.pascal, self.bar = quantity("pascal", "Pa"), quantity("bar", "bar")
        self.share, self.angle = quantity("share", ""), quantity("angle", "deg")
        self.free = quantity("free", None)
        self.mixed = quantity("mixed", ["kg/s", "degC"], 2)
        unit = {"heat": "kW", "T": "K"}
        box = gs.BlackBox(None, name="reactor", outputs=["heat", "T", "rest"], unit=unit)
        self.reactor = box(self.mixed)

    @staticmethod
    def constant(name: str, value: float, unit: str) -> gs.Expression:
        return gs.named(name, value, unit=unit)


RIGHT: dict[str, Callable[[Plant], Any]] = {
    "bare number in a sum": lambda p: p.length + 3,
    "bare price": lambda p: 100 * p.length + 8 * p.time,
    "price and bare fixed cost": lambda p: 100 * p.length + p.time - 20,
    "product": lambda p: p.length * p.time + 1,
    "same unit in other words": lambda p: p.length / p.time + quantity("v", "m/s"),
    "same size by other names": lambda p: p.reactor["heat"] + quantity("q", "kJ/s"),
    "variable without unit": lambda p: p.length + p.free,
    "output without unit": lambda p: p.length + p.reactor["rest"],
    "exp of a bare rate": lambda p: np.exp(-0.1 * p.kelvin),
    "log of a ratio": lambda p: np.log(p.kelvin / p.reactor["T"]) + p.share,
    "log of a bare ratio": lambda p: np.log(p.kelvin / 300),
    "fixed power": lambda p: p.length**2 + quantity("area", "m^2") + np.square(p.length),
    "power of fraction": lambda p: np.sqrt(p.length * p.length) + p.length**1.0,
    "power of plain numbers": lambda p: p.share**p.share + 2.0**p.share,
    "digit as power": lambda p: np.prod(quantity("edges", "m", 3)) + quantity("volume", "m3"),
    "heat by a difference on a scale": lambda p: (
        p.constant("k", 3, "kW/K") * (p.celsius - p.constant("Tc", 20, "degC")) + p.reactor["heat"]
    ),
    "difference on a scale and bare number": lambda p: p.celsius - 20 - p.kelvin,
    "warmer by a difference": lambda p: p.celsius + p.kelvin - p.kelvin,
    "mean on a scale": lambda p: np.mean(np.stack([p.celsius, p.mixed[1]])) - p.celsius,
    "weights of several units": lambda p: np.array([1.0, 2.0]) @ p.mixed,
    "several units for a box": lambda p: gs.BlackBox(None, name="g")(np.hstack([p.mixed, p.time])),
    "constants with units": lambda p: (
        p.constant("price", 2, "$/kg") * p.mixed[0] - p.constant("fixed", 1, "$/s")
    ),
    "money per plain output": lambda p: p.constant("a", 1, "€") * p.share + p.constant("b", 1, "€"),
    "condition": lambda p: np.where(p.kelvin <= 300, p.length, 2.0),
    "clipped": lambda p: np.clip(p.length, 0, 1) + abs(-p.length) + np.floor(p.length),
    "decibels": lambda p: quantity("l", "dB") + quantity("r", "dB") + p.share * quantity("x", "dB"),
    "white box": lambda p: gs.white_box(np.cos, name="w")(p.length) + p.time,
    "several units, entry by entry": lambda p: np.sum(p.mixed * np.array([1.0, 2.0])),
    "products of several units": lambda p: np.prod(p.mixed) + p.time,
    "declared where it is unknown": lambda p: gs.named("profit", 3 * p.length, unit="$/h") + 1,
    "angle": lambda p: np.arctan2(p.length, 2 * p.length) + quantity("phi", "rad"),
}

WRONG: dict[str, tuple[Callable[[Plant], Any], str]] = {
    "sum": (
        lambda p: p.length + p.time,
        r"length \+ time: length is in m and time in s, and numbers in different units cannot be "
        "added; convert one of them, or correct its unit",
    ),
    "difference": (
        lambda p: 2 * (p.reactor["heat"] - p.kelvin),
        r"reactor\(mixed\)\['heat'\] is in kW and kelvin in K, .* cannot be subtracted",
    ),
    "other size": (lambda p: p.pascal + p.bar, "pascal is in Pa and bar in bar"),
    "computed unit": (lambda p: p.length**2 + p.time, r"length\*\*2 is in m² and time in s"),
    "currencies": (
        lambda p: quantity("a", "USD") + quantity("b", "€"),
        "a is in USD and b in €",
    ),
    "thousands": (lambda p: quantity("a", "k$") + quantity("b", "$"), r"a is in k\$ and b in \$"),
    "exp": (
        lambda p: np.exp(p.kelvin),
        r"exp\(kelvin\): kelvin is in K, and exp takes a plain number; divide by a value in K",
    ),
    "percent": (lambda p: np.log(quantity("h", "%")), "h is in %, and log takes a plain number"),
    "degrees": (
        lambda p: np.sin(p.angle),
        r"angle is in deg, and sin takes a plain number of radians; convert it first",
    ),
    "exponent": (lambda p: 2**p.time, r"2\*\*time: a power takes plain numbers .*, not s"),
    "varying power": (lambda p: p.length**p.share, "unless its exponent is fixed, not m"),
    "entries": (lambda p: p.mixed.sum(), "an entry is in kg/s and another one in degC"),
    "largest": (lambda p: np.maximum(p.kelvin, p.length), "cannot be compared"),
    "branches": (lambda p: np.where(p.time <= 1, p.kelvin, p.length), "kelvin is in K and length"),
    "zero of a scale": (lambda p: p.kelvin - p.celsius, "kelvin is in K and celsius in degC"),
    "inside a box": (
        lambda p: gs.BlackBox(None, name="g")(p.length + p.time),
        "length is in m and time in s",
    ),
    "declared": (
        lambda p: gs.named("profit", p.mixed[0] / 1.0 + p.mixed[0], unit="$/s"),
        r"'profit' is declared in \$/s, but mixed\[0\] / 1 \+ mixed\[0\] is in kg/s: correct one",
    ),
    "unknown text": (
        lambda p: quantity("n", "pieces") + 1,
        "variable 'n' has the unit 'pieces', which pint does not know: write it as pint does",
    ),
    "unknown text of a box": (
        lambda p: gs.BlackBox(None, name="g", unit="pieces/h")(p.length),
        "black box 'g' has the unit 'pieces/h'",
    ),
    "number as unit": (lambda p: quantity("n", "3 kg") + 1, "has the unit '3 kg'"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_engineers_write_is_accepted(name):
    gs.Problem(minimize=RIGHT[name](Plant()))


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_refused_with_the_users_names_and_units(name):
    make, message = WRONG[name]
    with pytest.raises(ModelError, match=message):
        gs.Problem(minimize=make(Plant()))


@pytest.mark.parametrize("name", WRONG)
def test_nothing_is_refused_without_pint(name, monkeypatch):
    monkeypatch.setattr(unit_check, "pint_is_there", lambda: False)
    gs.Problem(minimize=WRONG[name][0](Plant()))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda p: {"cap": p.kelvin <= p.pascal},
            "constraint cap: kelvin <= pascal: kelvin is in K and pascal in Pa, .* be compared",
        ),
        (lambda p: [p.kelvin >= p.celsius], "constraint kelvin >= celsius: .* cannot be compared"),
        (
            lambda p: gs.named("cap", p.kelvin <= 300, unit="kW"),
            "constraint 'cap' is declared in kW, but the sides of kelvin <= 300 are in K: correct",
        ),
        (lambda p: gs.named("cap", p.free <= 3, unit="dozens"), "'cap' has the unit 'dozens'"),
    ],
)
@pytest.mark.parametrize("tolerance", [None, 0.1])
def test_sides_of_a_constraint_must_fit(make, message, tolerance):
    plant = Plant()
    with pytest.raises(ModelError, match=message):
        gs.Problem(minimize=plant.time, subject_to=make(plant), feasibility_tol=tolerance)


def test_expressions_without_units_are_never_checked(monkeypatch):
    def refuse() -> bool:
        raise AssertionError("pint is not needed")

    monkeypatch.setattr(unit_check, "pint_is_there", refuse)
    gs.Problem(minimize=quantity("a", None).mean() + 3)


def test_units_are_shown_where_operations_keep_them_with_and_without_pint():
    p = Plant()
    assert shown_units(p.mixed) == ["kg/s", "degC"]
    assert shown_units(p.mixed[1] - 20) == ["degC"]
    assert shown_units(p.mixed[0] * p.share) == ["kg/s"]
    assert shown_units(np.hstack([p.time, p.mixed, 3.0])) == ["s", "kg/s", "degC", None]
    assert shown_units(100 * p.mixed[0]) == [None]
    assert shown_units(p.length * p.time) == [None]
    assert shown_units(p.length, "cm") == ["cm"]
    assert shown_units(gs.named("speed", p.length / p.time, unit="meter/second")) == [
        "meter/second"
    ]


def test_a_problem_tells_its_units():
    p = Plant()
    constraints = {"warm": p.reactor["T"] >= 350, "both": p.mixed <= 2, "free": p.free <= 1}
    problem = gs.Problem(
        maximize=gs.named("profit", 3 * p.length, unit="$/h"), subject_to=constraints
    )
    assert (problem.objective_name, problem.objective_unit) == ("profit", "$/h")
    assert problem.constraint_units == ["K", "kg/s", "degC", None]
    assert gs.Problem(minimize=p.length).objective_name is None


def test_a_deep_problem_is_checked_without_recursion():
    p = Plant()
    deep = p.length
    for _ in range(3000):
        deep = deep + p.length
    with pytest.raises(ModelError, match="is in m and time in s"):
        gs.Problem(minimize=deep + p.time)
