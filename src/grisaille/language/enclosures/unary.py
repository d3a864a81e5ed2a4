"""Enclosures of the known operations with one argument.

Most curves are bowls (convex, or concave: a bowl upside down) or odd functions that bend one way
left of zero and the other way right of it. A line is then a tangent or a chord. Each is
moved until it holds at the ends of the pieces, whatever its slope, so that rounding of slopes and
of points of contact makes a line less tight but never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from grisaille.language.enclosures.interval import (
    EPSILON,
    TINY,
    Enclosure,
    Interval,
    Rule,
    enclosure,
    outward,
    signed_sum,
)

Function = Callable[[Tensor], Tensor]
Lines = tuple[Tensor, Tensor]  # slopes and constants, the lower line first

_FAR = 1e8  # beyond it, periods are too inaccurate in floating point to be told apart


def _ends(interval: Interval) -> Tensor:
    return torch.stack((interval.lower, interval.upper))


def _inside(ends: Tensor, low: float, high: float) -> Tensor:
    """The part of the interval in which a function is defined; NaN if there is none."""
    if low == -math.inf and high == math.inf:
        return ends
    empty = (ends[1] < low) | (ends[0] > high)
    return ends.clamp(low, high).masked_fill(empty, math.nan)


def _chord(ends: Tensor, at_ends: Tensor, convex: bool) -> Lines:
    """The line through both ends: above a convex curve, below a concave one."""
    slope = (at_ends[1] - at_ends[0]) / (ends[1] - ends[0]).clamp_min(TINY)
    levels = at_ends - slope * ends
    return slope, levels.amax(0) if convex else levels.amin(0)


def _tangent(point: Tensor, value: Function, derivative: Function) -> Lines:
    slope = derivative(point)
    return slope, value(point) - slope * point


def _bowl(
    value: Function,
    derivative: Function,
    *,
    convex: bool = True,
    valley: float | None = None,
    domain: tuple[float, float] = (-math.inf, math.inf),
    floor: float = -math.inf,
) -> Rule:
    """The rule of a convex (or concave) curve, monotone unless its lowest point is given."""

    def rule(interval: Interval) -> Enclosure:
        ends = _inside(_ends(interval), *domain)
        at_ends = value(ends)
        tangent = _tangent(0.5 * (ends[0] + ends[1]), value, derivative)
        chord = _chord(ends, at_ends, convex)
        pairs = zip(tangent, chord, strict=True) if convex else zip(chord, tangent, strict=True)
        slopes, constants = (torch.stack(pair) for pair in pairs)
        low, high = at_ends.amin(0), at_ends.amax(0)
        if valley is not None:
            low = value(torch.maximum(ends[0], ends[1].clamp_max(valley)))
        return enclosure((ends,), torch.stack((low, high)), (slopes,), constants, floor=floor)

    return rule


def _odd_lines(
    ends: Tensor,
    at_ends: Tensor,
    value: Function,
    derivative: Function,
    inverse: Function,
    bend: int,
) -> Lines:
    """Lines around an odd curve that bends only once, at zero.

    Below a curve which is concave left of zero and convex right of it, the best line touches the
    convex part and passes through the left end; or it is the chord, if that stays below. The line
    above is the line below after a half turn, so both are found together.

    Args:
        ends: Ends of the argument.
        at_ends: Values there.
        value: The curve.
        derivative: Its derivative, which is even and monotone on either side of zero.
        inverse: The point right of zero at which the derivative has a given value.
        bend: 1 if concave left of zero and convex right of it, -1 if the other way round.
    """
    turn = -outward(ends.ndim, ends.device)
    near, far = turn * ends, turn * ends.flip(0)
    at_near, at_far = (turn * bend) * at_ends, (turn * bend) * at_ends.flip(0)
    chord = (at_far - at_near) / (far - near).clamp_min(TINY)
    chord_level = torch.minimum(at_near - chord * near, at_far - chord * far)
    straddles = (near < 0) & (far > 0)
    # A chord from the left end to a point, then the point with the chord's slope: one step that
    # squares the error, because the chord is steepest at the point of contact. The first point is
    # right for a cubic, which every smooth bend is if it is short.
    touch = torch.minimum(-0.5 * near, far)
    steepest = (bend * value(touch) - at_near) / (touch - near)
    touch = torch.minimum(inverse(bend * steepest).clamp_min(0.0), far)
    touch = torch.where(straddles, touch, 0.5 * (near + far))
    slope = bend * derivative(touch)
    level = torch.minimum(bend * value(touch) - slope * touch, at_near - slope * near)
    cut = (far <= 0) | (straddles & (bend * derivative(far) <= chord))
    slopes = torch.where(cut, chord, slope)
    constants = torch.where(cut, chord_level, level)
    if bend < 0:
        slopes, constants = -slopes.flip(0), constants.flip(0)
    return slopes, turn * constants


def _odd(
    value: Function,
    derivative: Function,
    inverse: Function,
    bend: int,
    *,
    domain: tuple[float, float] = (-math.inf, math.inf),
    bound: float = math.inf,
) -> Rule:
    """The rule of an increasing odd curve that bends once, at zero (see `_odd_lines`)."""

    def rule(interval: Interval) -> Enclosure:
        ends = _inside(_ends(interval), *domain)
        at_ends = value(ends)
        slopes, constants = _odd_lines(ends, at_ends, value, derivative, inverse, bend)
        return enclosure((ends,), at_ends, (slopes,), constants, floor=-bound, ceiling=bound)

    return rule


def _wave(value: Function, offset: float) -> Rule:
    """The rule of sin(x - offset pi), which is `value`."""

    def rule(interval: Interval) -> Enclosure:
        ends = _ends(interval)
        middle = 0.5 * (ends[0] + ends[1])
        half_turns = torch.round(middle / math.pi - offset)
        shift = (half_turns + offset) * math.pi
        parity = 1.0 - 2.0 * torch.remainder(half_turns, 2.0)
        near_zero = ends - shift
        at_ends = parity * value(ends)  # sin of near_zero
        margin = 8 * EPSILON * (1.0 + shift.abs())
        wide = ~((ends[1] - ends[0] < 2 * math.pi) & (shift.abs() < _FAR))
        left, right = near_zero[0] - margin, near_zero[1] + margin
        crest = wide | ((left <= math.pi / 2) & (right >= math.pi / 2))
        trough = wide | ((left <= -math.pi / 2) & (right >= -math.pi / 2))
        low = at_ends.amin(0).masked_fill(trough, -1.0)
        high = at_ends.amax(0).masked_fill(crest, 1.0)
        slopes, constants = _odd_lines(near_zero, at_ends, torch.sin, torch.cos, _arccos, -1)
        # Only from -pi to pi the curve bends once.
        bent = wide | (near_zero.abs().amax(0) > 3.1415)
        constants = (constants - slopes * shift).masked_fill(bent, math.nan)
        upright = parity > 0
        found = torch.stack((torch.where(upright, low, -high), torch.where(upright, high, -low)))
        slopes = torch.where(upright, slopes, -slopes.flip(0))
        constants = torch.where(upright, constants, -constants.flip(0))
        return enclosure((ends,), found, (slopes,), constants, floor=-1.0, ceiling=1.0)

    return rule


def _arccos(slope: Tensor) -> Tensor:
    return torch.acos(slope.clamp(-1.0, 1.0))


def tan(interval: Interval) -> Enclosure:
    """Bounded between two poles only."""
    ends = _ends(interval)
    half_turns = torch.round(0.5 * (ends[0] + ends[1]) / math.pi)
    shift = half_turns * math.pi
    near_zero = ends - shift
    margin = 8 * EPSILON * (1.0 + shift.abs())
    between = (near_zero.abs().amax(0) + margin < math.pi / 2) & (shift.abs() < _FAR)
    at_ends = torch.tan(ends).masked_fill(~between, math.nan)
    slopes, constants = _odd_lines(
        near_zero,
        at_ends,
        torch.tan,
        lambda x: 1 + torch.tan(x).square(),
        lambda slope: torch.atan((slope - 1).clamp_min(0).sqrt()),
        1,
    )
    return enclosure((ends,), at_ends, (slopes,), constants - slopes * shift)


def arccos(interval: Interval) -> Enclosure:
    """A quarter turn less the arcsine."""
    ends = _inside(_ends(interval), -1.0, 1.0)
    slopes, constants = _odd_lines(
        ends,
        -torch.asin(ends),
        lambda x: -torch.asin(x),
        lambda x: -_arcsin_slope(x),
        lambda slope: _arcsin_point(-slope),
        -1,
    )
    constants = constants + math.pi / 2
    scale = torch.ones_like(constants)
    found = torch.acos(ends.flip(0))
    return enclosure((ends,), found, (slopes,), constants, scale=scale, floor=0.0)


def _arcsin_slope(x: Tensor) -> Tensor:
    return ((1 - x) * (1 + x)).rsqrt()


def _arcsin_point(slope: Tensor) -> Tensor:
    return (1 - slope.square().reciprocal()).clamp_min(0).sqrt()


def sign(interval: Interval) -> Enclosure:
    """-1, 0 or 1: a constant unless it jumps."""
    return _flat(_ends(interval), torch.sign)


def _flat(ends: Tensor, value: Function) -> Enclosure:
    found = value(ends)
    return enclosure((ends,), found, (torch.zeros_like(ends),), found, exact=True)


def _stairs(value: Function, below: float, above: float) -> Rule:
    """The rule of a staircase that stays between x + below and x + above."""

    def rule(interval: Interval) -> Enclosure:
        ends = _ends(interval)
        found = value(ends)
        long = found[1] - found[0] > 1
        slopes = long.to(ends.dtype).expand(ends.shape)
        lines = 0.5 * (below + above) + outward(ends.ndim, ends.device) * (0.5 * (above - below))
        return enclosure((ends,), found, (slopes,), torch.where(long, lines, found), exact=True)

    return rule


def _power(exponent: float) -> tuple[Function, Function]:
    """The function x**exponent and its derivative."""
    return lambda x: torch.pow(x, exponent), lambda x: exponent * torch.pow(x, exponent - 1)


def _negative_power(exponent: float) -> Rule:
    """The rule of x**exponent for a negative integer: two branches, a pole at zero."""
    odd = exponent % 2 == 1
    value, derivative = _power(exponent)

    def rule(interval: Interval) -> Enclosure:
        given = _ends(interval)
        sizes = given.abs()
        around = (given[0] < 0) & (given[1] > 0)
        left = given[1] <= 0
        unknown = around | (given == 0).all(0) if odd else around
        ends = torch.stack((sizes.amin(0).masked_fill(around, 0.0), sizes.amax(0)))
        at_ends = value(ends)
        pairs = zip(
            _tangent(0.5 * (ends[0] + ends[1]), value, derivative),
            _chord(ends, at_ends, True),
            strict=True,
        )
        slopes, constants = (torch.stack(pair) for pair in pairs)
        found = at_ends.flip(0)
        if odd:  # a half turn on the left
            found = torch.where(left, -at_ends, found).masked_fill(unknown, math.nan)
            slopes = torch.where(left, slopes.flip(0), slopes)
            constants = torch.where(left, -constants.flip(0), constants)
        else:  # the mirror image on the left
            slopes = torch.where(left, -slopes, slopes)
        constants = constants.masked_fill(unknown, math.nan)
        return enclosure((given,), found, (slopes,), constants)

    return rule


@lru_cache(maxsize=256)
def constant_power(exponent: float) -> Rule:
    """The rule of x**exponent for a number as exponent."""
    value, derivative = _power(exponent)

    def inverse(slope: Tensor) -> Tensor:
        return torch.pow((slope / exponent).clamp_min(0), 1 / (exponent - 1))

    if not math.isfinite(exponent):
        return lambda interval: _flat(_ends(interval) * math.nan, torch.abs)
    if exponent == 0:
        return lambda interval: _flat(_ends(interval), torch.ones_like)
    if exponent == 1:
        return identity
    if exponent == 2:
        return square
    if exponent != round(exponent):
        convex = not 0 < exponent < 1
        return _bowl(value, derivative, convex=convex, domain=(0.0, math.inf), floor=0.0)
    if exponent < 0:
        return _negative_power(exponent)
    if exponent % 2 == 0:
        return _bowl(value, derivative, valley=0.0, floor=0.0)
    return _odd(value, derivative, inverse, 1)


def identity(interval: Interval) -> Enclosure:
    """The argument itself."""
    return signed_sum(_ends(interval), 1.0)


def negative(interval: Interval) -> Enclosure:
    """The argument with the other sign."""
    return signed_sum(-_ends(interval).flip(0), -1.0)


def _logarithm(value: Function, base: float) -> Rule:
    return _bowl(value, lambda x: 1 / (x * math.log(base)), convex=False, domain=(0.0, math.inf))


_POSITIVE = (0.0, math.inf)

square = _bowl(torch.square, lambda x: 2 * x, valley=0.0, floor=0.0)
absolute = _bowl(torch.abs, torch.sign, valley=0.0, floor=0.0)
reciprocal = _negative_power(-1.0)
exp = _bowl(torch.exp, torch.exp, floor=0.0)
expm1 = _bowl(torch.expm1, torch.exp, floor=-1.0)
log = _bowl(torch.log, torch.reciprocal, convex=False, domain=_POSITIVE)
log1p = _bowl(torch.log1p, lambda x: 1 / (1 + x), convex=False, domain=(-1.0, math.inf))
log2 = _logarithm(torch.log2, 2.0)
log10 = _logarithm(torch.log10, 10.0)
sqrt = _bowl(torch.sqrt, lambda x: 0.5 * x.rsqrt(), convex=False, domain=_POSITIVE, floor=0.0)
cosh = _bowl(torch.cosh, torch.sinh, valley=0.0, floor=1.0)
arccosh = _bowl(
    torch.acosh,
    lambda x: (x - 1).rsqrt() * (x + 1).rsqrt(),  # the product of both may overflow
    convex=False,
    domain=(1.0, math.inf),
    floor=0.0,
)

sin = _wave(torch.sin, 0.0)
cos = _wave(torch.cos, -0.5)
sinh = _odd(torch.sinh, torch.cosh, lambda slope: torch.acosh(slope.clamp_min(1.0)), 1)
tanh = _odd(
    torch.tanh,
    lambda x: torch.cosh(x).square().reciprocal(),
    lambda slope: torch.atanh((1 - slope).clamp(0.0, 1.0).sqrt()),
    -1,
    bound=1.0,
)
arcsin = _odd(torch.asin, _arcsin_slope, _arcsin_point, 1, domain=(-1.0, 1.0))
arctan = _odd(
    torch.atan,
    lambda x: 1 / (1 + x.square()),
    lambda slope: (1 / slope - 1).clamp_min(0).sqrt(),
    -1,
)
arcsinh = _odd(
    torch.asinh,
    lambda x: 1 / torch.hypot(x, torch.ones_like(x)),
    lambda slope: (slope.square().reciprocal() - 1).clamp_min(0).sqrt(),
    -1,
)
arctanh = _odd(
    torch.atanh,
    lambda x: 1 / ((1 - x) * (1 + x)),
    lambda slope: (1 - slope.reciprocal()).clamp_min(0).sqrt(),
    1,
    domain=(-1.0, 1.0),
)
floor = _stairs(torch.floor, -1.0, 0.0)
ceil = _stairs(torch.ceil, 0.0, 1.0)
