"""Enclosures of the known operations with several arguments."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grisaille.language.enclosures import unary
from grisaille.language.enclosures.interval import (
    EPSILON,
    Enclosure,
    Interval,
    Plane,
    enclosure,
    outward,
    signed_sum,
    stacked,
)


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
    inverse = unary.reciprocal(Interval(b[0], b[1]))
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
        special = unary.constant_power(b[0].item())(Interval(a[0], a[1]))
        return _with_exponent(special, b)
    fixed = b[0] == b[1]
    # Beyond a few different exponents, the general formula is good enough.
    numbers = b[0][fixed].unique()[:16].tolist()
    found = _variable_power(a, b)
    for number in numbers:
        special = unary.constant_power(number)(Interval(a[0], a[1]))
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
    logarithm = unary.log(Interval(base[0], base[1]))
    product = multiply(Interval(exponent[0], exponent[1]), logarithm.interval)
    value = unary.exp(product.interval)
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
