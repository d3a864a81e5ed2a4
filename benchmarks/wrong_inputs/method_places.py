"""Places of strategies, solvers, kernels and the theory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import grisaille as gs
from benchmarks.wrong_inputs.place import (
    COUNT,
    FLAG,
    NONE,
    NOT_NEGATIVE,
    POSITIVE,
    VECTOR,
    Place,
    place,
)

KERNEL = gs.Matern(lengthscale=1.0, variance=1.0)
_COUNT_OR_NONE = COUNT | NONE
# Whether an array is a point of the problem is known with the problem.
# Texts may be labels of choices: whether they are is asked when the problem is known.
_DESIGN = COUNT | NONE | VECTOR | {"matrix"}
_DESIGN |= {"same texts", "categories", "texts", "text array", "text series", "frame", "mixed"}
_BAND = POSITIVE
_CHANCE = {"fraction", "tiny"}
_SOLVER = {"none", "solver"}

# By class: what is right for each of its arguments.
_CONSTRUCTORS: dict[Callable[..., object], dict[str, set[str]]] = {
    gs.Optimistic: {
        "beta": _BAND,
        "solver": _SOLVER,
        "initial": _DESIGN,
        "exploit": FLAG | NONE,
        "confidence": _CHANCE,
    },
    gs.CONFIG: {
        "beta": _BAND,
        "solver": _SOLVER,
        "initial": _DESIGN,
        "exploit": FLAG | NONE,
        "kernel": {"none", "kernel"},
        # How many outputs there are is known with the problem.
        "noise": NOT_NEGATIVE | NONE | {"numbers", "range", "series", "long vector"},
        "norm_bound": POSITIVE | NONE | {"numbers", "series", "long vector"},
        "confidence": _CHANCE,
    },
    gs.EIFN: {"samples": COUNT, "initial": _DESIGN},
    gs.EICF: {"samples": COUNT, "initial": _DESIGN},
    gs.CUQB: {"probability": {"fraction"}, "samples": COUNT, "initial": _DESIGN},
    gs.LogEI: {"restarts": COUNT, "raw_samples": COUNT, "initial": _DESIGN},
    gs.MCBO: {"beta": _BAND, "solver": _SOLVER, "initial": _COUNT_OR_NONE},
    gs.CBO: {
        "initial": _COUNT_OR_NONE | {"zero"},
        "most_observations": _COUNT_OR_NONE | {"zero"},
        "solver": _SOLVER,
    },
    gs.ConstrainedCBO: {
        "initial": _COUNT_OR_NONE | {"zero"},
        "most_observations": _COUNT_OR_NONE | {"zero"},
        "solver": _SOLVER,
    },
    gs.Grid: {"points": {"whole"}},
    gs.MultiStart: {
        "starts": COUNT,
        "samples": COUNT,
        "iterations": COUNT,
        "again": FLAG,
        "polish": FLAG,
    },
    gs.Certified: {
        "absolute_gap": NOT_NEGATIVE,
        "relative_gap": NOT_NEGATIVE,
        "regions": COUNT,
        "seconds": POSITIVE | {"none", "inf"},
        "batch": COUNT,
        "search": {"solver"},
        "device": NONE,
    },
    gs.Theory: {
        "delta": {"fraction", "tiny"},
        "horizon": _COUNT_OR_NONE,
        "gain": set(),
        "regularization": POSITIVE | NONE,
    },
}

_HYPERPARAMETERS = (gs.Matern, gs.SquaredExponential, gs.Linear)


def _constructor(kind: Callable[..., object], argument: str) -> Callable[[Any], object]:
    return lambda value: kind(**{argument: value})


def _scale(kind: Any) -> Callable[[Any], object]:
    return lambda value: kind(lengthscale=value, variance=1.0)


def _variance(kind: Any) -> Callable[[Any], object]:
    return lambda value: kind(lengthscale=1.0, variance=value)


def constructor_places() -> list[Place]:
    """Places of every strategy, solver, kernel and of `Theory`."""
    places = [
        place(f"{kind.__name__}({argument}=)", _constructor(kind, argument), right)
        for kind, arguments in _CONSTRUCTORS.items()
        for argument, right in arguments.items()
    ]
    scales = POSITIVE | {"numbers", "series", "long vector"}
    for kind in _HYPERPARAMETERS:
        places.append(place(f"{kind.__name__}(lengthscale=)", _scale(kind), scales))
        places.append(place(f"{kind.__name__}(variance=)", _variance(kind), POSITIVE))
    return [
        *places,
        place("Matern(smoothness=)", gs.Matern, {"fraction"}),
        place("kernel + value", lambda v: gs.Matern() + v, {"kernel"}, "kernels"),
        place("kernel * value", lambda v: gs.Matern() * v, {"kernel"}, "kernels"),
        place(
            "kernel.on(value)",
            lambda v: gs.Matern().on(v),
            COUNT | {"zero", "long whole", "huge whole"},
            "inputs",
        ),
        # What takes one argument may be right; the rest is known when it is called.
        place("Acquisition(function=)", gs.Acquisition, {"class", "black box"}),
        place("Acquisition(initial=)", lambda v: gs.Acquisition(abs, v), _DESIGN),
        place("Knowledge(situation=)", gs.Knowledge),
        place("Knowledge(beta=)", lambda v: gs.Knowledge(_situation(), v), _BAND),
        place("Knowledge.predict(x=)", lambda v: gs.Knowledge(_situation()).predict(v)),
        place("Knowledge.draw(x=)", lambda v: gs.Knowledge(_situation()).draw(v)),
        place(
            "Knowledge.draw(samples=)", lambda v: gs.Knowledge(_situation()).draw(_ONE, v), COUNT
        ),
    ]


_ONE = torch.zeros(1, 1, dtype=torch.float64)


def _situation() -> gs.Situation:
    """A situation in which nothing was tried and nothing is to be learned."""
    box = gs.BlackBox(np.sin, name="f", noise=0, kernel=KERNEL)
    problem = gs.Problem(minimize=box(gs.Variable("x", lower=0, upper=1)))
    return gs.Situation(problem, gs.History(), 0)


def _maximum(**options: Any) -> float:
    usual: dict[str, Any] = {"kernel": KERNEL, "lower": [0.0], "upper": [1.0], "count": 3}
    return gs.maximum_information_gain(**{**usual, "regularization": 1.0, **options})


def theory_places() -> list[Place]:
    """Places of the functions about information gain and rates, and of measures."""
    gain, steps = gs.information_gain, [4.0, 5.0]
    many = {"numbers", "series", "long vector", "matrix", "cube", "empty", "empty array"}
    places = [
        place("information_gain(kernel=)", lambda v: gain(v, [[0.0]], 1.0), ()),
        place(
            "information_gain(points=)", lambda v: gain(KERNEL, v, 1.0), {"matrix", "empty array"}
        ),
        place("information_gain(regularization=)", lambda v: gain(KERNEL, [[0.0]], v), POSITIVE),
        place("maximum_information_gain(kernel=)", lambda v: _maximum(kernel=v), ()),
        place(
            "maximum_information_gain(lower=)",
            lambda v: _maximum(lower=v),
            {"zero", "fraction", "tiny", "one", "negative", "negative whole", "negative giant"},
            "lower",
            "domain",
        ),
        place(
            "maximum_information_gain(upper=)",
            lambda v: _maximum(upper=v),
            POSITIVE | {"zero"},
            "upper",
            "domain",
        ),
        place("maximum_information_gain(count=)", lambda v: _maximum(count=v), COUNT | {"zero"}),
        place(
            "maximum_information_gain(regularization=)",
            lambda v: _maximum(regularization=v),
            POSITIVE,
            VECTOR,
        ),
        place(
            "Metrics(objectives=)",
            lambda v: gs.Metrics(v, np.zeros((2, 0)), 0.0),
            VECTOR | {"empty", "list of none", "numbers with nan"},
        ),
        place(
            "Metrics(constraints=)",
            lambda v: gs.Metrics([1.0, 2.0], v, 0.0),
            {"matrix", "empty", "empty array"},
        ),
        place(
            "Metrics(optimum=)",
            lambda v: gs.Metrics([1.0], [[0.0]], v),
            POSITIVE | {"zero", "negative", "negative whole", "negative giant"},
        ),
    ]
    for rate in (gs.information_gain_rate, gs.regret_rate, gs.convergence_rate):
        name = rate.__name__
        places += [
            place(f"{name}(kernel=)", lambda v, rate=rate: rate(v, steps, 1), {"kernel"}),
            place(
                f"{name}(steps=)",
                lambda v, rate=rate: rate(KERNEL, v, 1),
                {"one", "whole", "above one", "giant", "long whole", *many},
            ),
            place(f"{name}(dimension=)", lambda v, rate=rate: rate(KERNEL, steps, v), COUNT),
        ]
    return places
