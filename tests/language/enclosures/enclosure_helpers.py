"""Every elementwise atom, what mpmath says it is, and boxes that are hard on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import torch
from torch import Tensor

from grisaille.language import operations
from grisaille.language.enclosures.interval import Enclosure, Interval
from grisaille.language.operations import Atom

mpmath.mp.dps = 60
INFINITE = float("inf")


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """None where the value is no finite real number."""

    def value(*arguments: Any) -> Any:
        try:
            answer = function(*arguments)
        except (ZeroDivisionError, ValueError, OverflowError):
            return None
        if isinstance(answer, mpmath.mpc):
            return None
        return answer if mpmath.isfinite(answer) else None

    return value


TRUTH: dict[str, Callable[..., Any]] = {
    name: _real(function)
    for name, function in {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": lambda a, b: a / b,
        "power": lambda a, b: mpmath.power(a, b),
        "minimum": min,
        "maximum": max,
        "arctan2": lambda y, x: mpmath.atan2(y, x) if x or y else mpmath.nan,
        "where": lambda c, a, b: a if c <= 0 else b,
        "negative": lambda a: -a,
        "absolute": abs,
        "reciprocal": lambda a: 1 / a,
        "exp": mpmath.exp,
        "expm1": mpmath.expm1,
        "log": mpmath.log,
        "log1p": mpmath.log1p,
        "log2": lambda a: mpmath.log(a) / mpmath.log(2),
        "log10": mpmath.log10,
        "sqrt": mpmath.sqrt,
        "square": lambda a: a * a,
        "sin": mpmath.sin,
        "cos": mpmath.cos,
        "tan": mpmath.tan,
        "arcsin": mpmath.asin,
        "arccos": mpmath.acos,
        "arctan": mpmath.atan,
        "sinh": mpmath.sinh,
        "cosh": mpmath.cosh,
        "tanh": mpmath.tanh,
        "arcsinh": mpmath.asinh,
        "arccosh": mpmath.acosh,
        "arctanh": mpmath.atanh,
        "sign": mpmath.sign,
        "floor": mpmath.floor,
        "ceil": mpmath.ceil,
    }.items()
}
PAIRS = ["add", "subtract", "multiply", "divide", "power", "minimum", "maximum", "arctan2"]
ARITY = dict.fromkeys(TRUTH, 1) | dict.fromkeys(PAIRS, 2) | {"where": 3}

SPECIAL = np.array(
    [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.0, 7.0, 1e-8, -1e-8, 1 - 1e-12, -1 + 1e-12]
    + [k * np.pi / 2 for k in range(-5, 6)]
)


def atom_named(name: str) -> Atom:
    """The atom that the module of atoms calls by this name."""
    found = getattr(operations, name)
    assert isinstance(found, Atom)
    return found


def random_ends(rng: np.random.Generator, boxes: int) -> tuple[np.ndarray, np.ndarray]:
    """Intervals: narrow, wide, of no width, at special points, huge and tiny."""
    center = rng.normal(size=boxes) * 10.0 ** rng.choice([-3, -1, 0, 0, 0, 1, 2], boxes)
    special = rng.random(boxes) < 0.3
    center = np.where(special, rng.choice(SPECIAL, boxes), center)
    extreme = rng.random(boxes) < 0.1
    center = np.where(extreme, center * 10.0 ** rng.uniform(-290, 290, boxes), center)
    width = 10.0 ** rng.uniform(-14, 1.5, boxes) * rng.choice([0, 1, 1, 1], boxes)
    width = np.where(rng.random(boxes) < 0.5, width * np.abs(center), width)
    side = rng.choice([0.0, 0.5, 1.0], boxes)  # the special point is an end, or in the middle
    lower, upper = center - side * width, center + (1 - side) * width
    return lower, np.maximum(lower, upper)


def enclose(atom: Atom, *ends: tuple[Any, Any]) -> Enclosure:
    """Bounds over boxes given as (lower, upper) arrays."""
    assert atom.enclose is not None
    return atom.enclose(*(Interval(_tensor(low), _tensor(high)) for low, high in ends))


def _tensor(values: Any) -> Tensor:
    return torch.as_tensor(np.atleast_1d(np.asarray(values, float)))


def points_inside(
    rng: np.random.Generator, ends: list[tuple[np.ndarray, np.ndarray]], count: int
) -> list[np.ndarray]:
    """Corners and random points of each box, (count, boxes) for each argument."""
    found = []
    for low, high in ends:
        share = rng.random((count, len(low)))
        share = np.where(rng.random(share.shape) < 0.4, np.round(share), share)
        share = np.where(rng.random(share.shape) < 0.1, 0.5, share)
        found.append(np.clip(low * (1 - share) + high * share, low, high))
    return found


def slopes_of(enclosure: Enclosure, boxes: int) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the lower and the upper plane, (arguments, boxes)."""
    lower, upper = (
        np.stack([np.broadcast_to(s.numpy(), (boxes,)) for s in plane.slopes])
        for plane in (enclosure.lower, enclosure.upper)
    )
    return lower, upper


def violations(
    name: str, enclosure: Enclosure, points: list[np.ndarray], boxes: range
) -> list[str]:
    """Where the exact value, to 60 digits, lies outside its bounds; no tolerance."""
    count, size = points[0].shape
    low, high = enclosure.interval.lower.numpy(), enclosure.interval.upper.numpy()
    planes = list(
        zip(
            (enclosure.lower, enclosure.upper),
            slopes_of(enclosure, size),
            (1, -1),
            strict=True,
        )
    )
    found = []
    for box in boxes:
        for row in range(count):
            at = [mpmath.mpf(float(p[row, box])) for p in points]
            value = TRUTH[name](*at)
            if value is None:
                continue
            if not low[box] <= value <= high[box]:
                found.append(f"{name} at {[float(p) for p in at]}: [{low[box]}, {high[box]}]")
            for plane, slopes, sign in planes:
                level = mpmath.mpf(float(plane.constant[box]))
                line = level + sum(
                    mpmath.mpf(float(s)) * x for s, x in zip(slopes[:, box], at, strict=True)
                )
                if sign * (value - line) < 0:
                    found.append(
                        f"{name} at {[float(p) for p in at]}: {float(value - line)} {sign}"
                    )
    return found


def seed_of(name):
    return sum(map(ord, name))


def parts(enclosure):
    planes = (enclosure.lower, enclosure.upper)
    return [
        enclosure.interval.lower,
        enclosure.interval.upper,
        *(p.constant for p in planes),
        *(s for p in planes for s in p.slopes),
    ]


def assert_well_formed(enclosure):
    assert not any(part.isnan().any() for part in parts(enclosure))
    assert (enclosure.interval.lower <= enclosure.interval.upper).all()
    for plane in (enclosure.lower, enclosure.upper):
        assert all(s.isfinite().all() for s in plane.slopes)
    assert (enclosure.lower.constant < INFINITE).all()
    assert (enclosure.upper.constant > -INFINITE).all()


def assert_values_inside(name, enclosure, points):
    """A dense check in floating point: what the atom itself computes, without tolerance."""
    tensors = [torch.as_tensor(p) for p in points]
    values = atom_named(name).evaluate(*(t.reshape(-1) for t in tensors)).reshape(tensors[0].shape)
    real = values.isfinite()
    planes = [
        plane.constant + sum(s * t for s, t in zip(plane.slopes, tensors, strict=True))
        for plane in (enclosure.lower, enclosure.upper)
    ]
    for low, high in ((enclosure.interval.lower, enclosure.interval.upper), planes):
        assert not (real & (values < low)).any()
        assert not (real & (values > high)).any()
