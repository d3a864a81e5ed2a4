"""Enclosures of the known operations.

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
    Plane,
    Rule,
    enclosure,
    outward,
    signed_sum,
    stacked,
)

# --- one argument ---------------------------------------------------------------------------------
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


# --- several arguments ----------------------------------------------------------------------------
def add(left: Interval, right: Interval) -> Enclosure:
    """The sum."""
    a, b = stacked(left, right)
    return signed_sum(a + b, 1.0, 1.0)


def subtract(left: Interval, right: Interval) -> Enclosure:
    """The difference."""
    a, b = stacked(left, right)
    return signed_sum(a - b.flip(0), 1.0, -1.0)


def multiply(left: Interval, right: Interval) -> Enclosure:
    """The product: McCormick's planes, exact if one factor is constant.

    Two planes lie below a product and two above it. The chosen ones are tight where the factor that
    keeps its sign is smallest, for all values of the other, on which the search may not branch. If
    both change sign, the planes are the averages.
    """
    a, b = stacked(left, right)
    for place, factor in ((0, a), (1, b)):
        if _all_fixed(factor):
            products = (a * b).nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)
            return _scaled((a, b), 1 - place, products, factor[0], exact=True)
    ends, slopes, constants = _product(a, b)
    return enclosure((a, b), ends, slopes, constants, exact=True)


def _product(a: Tensor, b: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor], Tensor]:
    """Ends, slopes and constants of a product, not yet rounded outward."""
    corners = (a.unsqueeze(1) * b).nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)
    ends = torch.stack((corners.amin((0, 1)), corners.amax((0, 1))))
    fluctuation_a, fluctuation_b = _fluctuation(a), _fluctuation(b)
    swapped = fluctuation_a < fluctuation_b
    signed = torch.where(swapped, a, b)  # keeps its sign, if one does
    other = torch.where(swapped, b, a)
    signed_middle, other_middle = signed.mean(0), other.mean(0)
    definite = torch.minimum(fluctuation_a, fluctuation_b) <= 1
    upright = signed_middle >= 0
    at_other = torch.where(definite, torch.where(upright, signed[0], signed[1]), signed_middle)
    at_signed = torch.where(upright, other, other.flip(0))
    at_signed = torch.where(definite, at_signed, other_middle)
    spread = 0.25 * (signed[1] - signed[0]) * (other[1] - other[0])
    constants = -at_signed * at_other
    constants = torch.where(
        definite, constants, constants + outward(ends.ndim, ends.device) * spread
    )
    fixed = (signed[0] == signed[1]) & signed[0].isfinite()
    at_signed = at_signed.masked_fill(fixed, 0.0)
    constants = constants.masked_fill(fixed, 0.0)
    slopes = (
        torch.where(swapped, at_signed, at_other),
        torch.where(swapped, at_other, at_signed),
    )
    return ends, slopes, constants


def _all_fixed(ends: Tensor) -> bool:
    return bool(((ends[0] == ends[1]) & ends[0].isfinite()).all())


def _scaled(
    pair: tuple[Tensor, Tensor], place: int, products: Tensor, factor: Tensor, *, exact: bool
) -> Enclosure:
    """One of two arguments times a constant factor."""
    ends = torch.stack((products.amin(0), products.amax(0)))
    zeros = torch.zeros_like(ends)
    slopes = [zeros, zeros]
    slopes[place] = zeros + factor
    return enclosure(pair, ends, slopes, zeros, exact=exact)


def _fluctuation(ends: Tensor) -> Tensor:
    """Width relative to size: 0 for a constant, up to 1 for one sign, above 1 for two."""
    width = ends[1] - ends[0]
    ratio = (width / ends.abs().amax(0)).nan_to_num(nan=math.inf, posinf=math.inf)
    return torch.where(width == 0, 0.0, ratio)


def divide(numerator: Interval, denominator: Interval) -> Enclosure:
    """The quotient: the product with the reciprocal, exact if the denominator is constant."""
    a, b = stacked(numerator, denominator)
    if _all_fixed(b) and bool((b[0] != 0).all()):
        return _scaled((a, b), 0, a / b, 1 / b[0], exact=False)
    inverse = reciprocal(Interval(b[0], b[1]))
    ends, slopes, constants = _product(a, *stacked(inverse.interval))
    (slope,), inner, size = _through(slopes[1], inverse)
    scale = constants.abs() + size
    constants = constants + inner
    fixed = (b[0] == b[1]) & (b[0] != 0)
    slopes_a = torch.where(fixed, 1 / b[0], slopes[0])
    slopes_b = slope.masked_fill(fixed, 0.0)
    constants = constants.masked_fill(fixed, 0.0)
    scale = scale.masked_fill(fixed, 0.0)
    return enclosure((a, b), ends, (slopes_a, slopes_b), constants, scale=scale)


def _both(found: Enclosure) -> tuple[list[Tensor], Tensor, Tensor]:
    """Slopes, constants and the size of the constants, the lower plane first."""
    pairs = zip(found.lower.slopes, found.upper.slopes, strict=True)
    constants = torch.stack((found.lower.constant, found.upper.constant))
    return [torch.stack(pair) for pair in pairs], constants, constants.abs()


def _through(slope: Tensor, inner: Enclosure) -> tuple[list[Tensor], Tensor, Tensor]:
    """Replace a value with this slope by its own planes, on the safe side."""
    slopes, constants, _ = _both(inner)
    positive = slope >= 0
    constants = slope * torch.where(positive, constants, constants.flip(0))
    constants = constants.masked_fill(slope == 0, 0.0)
    slopes = [slope * torch.where(positive, s, s.flip(0)) for s in slopes]
    return slopes, constants, constants.abs()


def power(base: Interval, exponent: Interval) -> Enclosure:
    """A power: by the kind of each constant exponent, else exp(exponent * log(base))."""
    a, b = stacked(base, exponent)
    if b[0].numel() == 1 and _all_fixed(b):
        special = constant_power(b[0].item())(Interval(a[0], a[1]))
        return _with_exponent(special, b)
    fixed = b[0] == b[1]
    # Beyond a few different exponents, the general formula is good enough.
    numbers = b[0][fixed].unique()[:16].tolist()
    found = _variable_power(a, b)
    for number in numbers:
        special = constant_power(number)(Interval(a[0], a[1]))
        found = _chosen(b[0] == number, fixed, _with_exponent(special, b), found)
    return found


def _with_exponent(found: Enclosure, exponent: Tensor) -> Enclosure:
    """An enclosure of a power with a constant exponent, which has the slope zero."""
    none = torch.zeros_like(exponent[0])
    return Enclosure(
        Interval(found.interval.lower + none, found.interval.upper + none),
        Plane((*found.lower.slopes, none), found.lower.constant + none),
        Plane((*found.upper.slopes, none), found.upper.constant + none),
    )


def _chosen(equal: Tensor, fixed: Tensor, yes: Enclosure, no: Enclosure) -> Enclosure:
    """Entry by entry one enclosure or the other."""
    where = equal & fixed

    def plane(one: Plane, two: Plane) -> Plane:
        slopes = (torch.where(where, s, t) for s, t in zip(one.slopes, two.slopes, strict=True))
        return Plane(tuple(slopes), torch.where(where, one.constant, two.constant))

    return Enclosure(
        Interval(
            torch.where(where, yes.interval.lower, no.interval.lower),
            torch.where(where, yes.interval.upper, no.interval.upper),
        ),
        plane(yes.lower, no.lower),
        plane(yes.upper, no.upper),
    )


def _variable_power(base: Tensor, exponent: Tensor) -> Enclosure:
    logarithm = log(Interval(base[0], base[1]))
    product = multiply(Interval(exponent[0], exponent[1]), logarithm.interval)
    value = exp(product.interval)
    (slope,), constants, scale = _both(value)
    (slope_exponent, slope), inner, size = _through(slope, product)
    constants, scale = constants + inner, scale + size
    (slope_base,), inner, size = _through(slope, logarithm)
    constants, scale = constants + inner, scale + size
    ends = torch.stack((value.interval.lower, value.interval.upper))
    # A negative base has real powers for whole exponents, which the formula does not cover.
    unknown = (base[0] < 0) & (exponent[0].ceil() <= exponent[1])
    ends = ends.masked_fill(unknown, math.nan)
    constants = constants.masked_fill(unknown, math.nan)
    slopes = (slope_base, slope_exponent)
    return enclosure((base, exponent), ends, slopes, constants, scale=scale)


def maximum(left: Interval, right: Interval) -> Enclosure:
    """The larger: at least either, at most `right + max(left - right, 0)` along its chord."""
    a, b = stacked(left, right)
    weight, above, size = _lead(a, b)
    larger = (a.sum(0) > b.sum(0)).to(a.dtype)
    slope = torch.stack((larger, weight))
    constants = torch.stack((torch.zeros_like(above), above))
    scale = torch.stack((torch.zeros_like(size), size))
    return enclosure(
        (a, b), torch.maximum(a, b), (slope, 1 - slope), constants, exact=True, scale=scale
    )


def minimum(left: Interval, right: Interval) -> Enclosure:
    """The smaller: `left + right - maximum`."""
    a, b = stacked(left, right)
    weight, above, size = _lead(a, b)
    larger = (a.sum(0) > b.sum(0)).to(a.dtype)
    slope = 1 - torch.stack((weight, larger))
    constants = torch.stack((-above, torch.zeros_like(above)))
    scale = torch.stack((size, torch.zeros_like(size)))
    return enclosure(
        (a, b), torch.minimum(a, b), (slope, 1 - slope), constants, exact=True, scale=scale
    )


def _lead(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The chord of max(a - b, 0) as its slope and its height at a = b, and the size of a - b."""
    low, high = a[0] - b[1], a[1] - b[0]
    width = high - low
    weight = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, high / width))
    apart = (low >= 0) | (high <= 0)
    return weight, (-weight * low).masked_fill(apart, 0.0), width.masked_fill(apart, 0.0)


def where(condition: Interval, yes: Interval, no: Interval) -> Enclosure:
    """The second argument where the first is at most 0, else the third."""
    c, a, b = stacked(condition, yes, no)
    surely, never = c[1] <= 0, c[0] > 0
    hull = torch.stack((torch.minimum(a[0], b[0]), torch.maximum(a[1], b[1])))
    ends = torch.where(surely, a, torch.where(never, b, hull))
    zeros = torch.zeros_like(ends)
    slopes = (zeros, zeros.masked_fill(surely, 1.0), zeros.masked_fill(never, 1.0))
    constants = ends.masked_fill(surely | never, 0.0)
    return enclosure((c, a, b), ends, slopes, constants, exact=True)


def arctan2(ordinate: Interval, abscissa: Interval) -> Enclosure:
    """The angle: corners, and the mean value theorem away from the cut along the negative axis."""
    y, x = stacked(ordinate, abscissa)
    corners = torch.atan2(y.unsqueeze(1), x)
    # At the cut the sign of a zero decides, so the cut itself belongs to both sides.
    cut = (y[0] <= 0) & (y[1] >= 0) & (x[0] <= 0)
    low = corners.amin((0, 1)).masked_fill(cut, -math.pi)
    ends = torch.stack((low, corners.amax((0, 1)).masked_fill(cut, math.pi)))
    squares = _squares(y) + _squares(x)
    inverses = squares.reciprocal().flip(0) * (
        1 + 8 * EPSILON * outward(squares.ndim, squares.device)
    )
    slope_y, change_y = _mean_value(x, inverses)
    slope_x, change_x = _mean_value(-y.flip(0), inverses)
    middle_y, middle_x = y.mean(0), x.mean(0)
    doubt = change_y * (y[1] - y[0]) + change_x * (x[1] - x[0])
    constant = torch.atan2(middle_y, middle_x) - slope_y * middle_y - slope_x * middle_x
    constants = constant + outward(ends.ndim, ends.device) * (doubt * (0.5 + 8 * EPSILON))
    exact = (squares[0] > 1e-280) & (squares[1] < 1e280)  # no square lost its precision
    level = cut | ~(exact & (doubt < ends[1] - ends[0]))  # else the interval is tighter
    constants = constants.masked_fill(level, math.nan)
    slopes = (slope_y.expand(ends.shape), slope_x.expand(ends.shape))
    scale = torch.ones_like(constants)
    return enclosure((y, x), ends, slopes, constants, scale=scale)


def _squares(ends: Tensor) -> Tensor:
    squares = ends.square()
    least = squares.amin(0).masked_fill((ends[0] < 0) & (ends[1] > 0), 0.0)
    return torch.stack((least, squares.amax(0)))


def _mean_value(ends: Tensor, factor: Tensor) -> tuple[Tensor, Tensor]:
    """Middle and half width of the range of a slope, `ends` times a positive factor."""
    corners = ends.unsqueeze(1) * factor
    low, high = corners.amin((0, 1)), corners.amax((0, 1))
    return 0.5 * (low + high), 0.5 * (high - low)
