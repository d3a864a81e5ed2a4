"""The known problems with equations once more, in NumPy and SciPy alone, with their loops closed.

Each formula maps the decisions of one point to the objective, in the problem's own sense, the
constraints, met when <= 0, and the unknowns. Where the loop has no solution, the constraints are
infinite.
"""

from __future__ import annotations

import numpy as np

GAS = 8.314e-3


def newton(function, start, steps=60):
    """A root of a function of several numbers, with differences as derivatives."""
    point = np.array(start, dtype=float)
    for _ in range(steps):
        value = np.asarray(function(point))
        sizes = 1e-7 * (1 + np.abs(point))
        columns = [
            (np.asarray(function(point + size * axis)) - value) / size
            for size, axis in zip(sizes, np.eye(len(point)), strict=True)
        ]
        step = np.linalg.solve(np.stack(columns, 1), value)
        point = point - step
        if np.abs(step).max() <= 1e-14 * (1 + np.abs(point).max()):
            break
    return point


def solvent_blend(fractions):
    """Nothing is unknown; the fractions sum to one."""
    a, b, c, d = fractions
    pairs = 0.5 * a * b - 0.6 * a * c + 0.3 * a * d + 0.8 * b * c - 0.4 * b * d + 1.1 * c * d
    viscosity = 0.6**a * 1.1**b * 2.4**c * 0.35**d * np.exp(pairs)
    dispersion = 15.5 * a + 15.8 * b + 18 * c + 15.3 * d - 16.4
    polar = 10.4 * a + 8.8 * b + 1.4 * c + 6.1 * d - 6.8
    bonds = 7 * a + 19.4 * b + 2 * c + 4.1 * d - 8.2
    solubility = 1600 / (16 + 4 * dispersion**2 + polar**2 + bonds**2)
    price = 1.3 * a + 0.9 * b + 1.6 * c + 0.7 * d
    return price, np.array([0.6 - viscosity, 80 - solubility]), np.zeros(0)


def sellar(decisions):
    """By Newton's method on y1 and y2, from where the disciplines are far from zero."""
    x, z1, z2 = decisions
    if z1**2 + z2 + x - 0.2 * (z1 + z2) <= 0:  # sqrt(y1) would be negative
        return np.inf, np.full(2, np.inf), np.full(2, np.nan)

    def disagreement(root):  # of r = sqrt(y1), which keeps y1 positive
        return [root[0] ** 2 - (z1**2 + z2 + x - 0.2 * (root[0] + z1 + z2))]

    root = newton(disagreement, [10.0])[0]
    y1, y2 = root**2, root + z1 + z2
    return x**2 + z2 + y1 + np.exp(-y2), np.array([3.16 - y1, y2 - 24]), np.array([y1, y2])


def recycle_loop(decisions):
    """By Newton's method on all streams at once: both recycles, and what leaves the reactor."""
    kelvin, reflux, purge = decisions
    warmth = (1 / 400 - 1 / kelvin) / GAS
    k1, k2 = 1.5 * np.exp(60 * warmth), 0.03 * np.exp(140 * warmth)

    def parts(streams):
        recycled, inert, left = streams
        flow = (10.5 + recycled + inert) / 10
        product, waste = 2 * k1 * left / flow, 2 * k2 * (left / flow) ** 2
        lost = 0.3 * np.exp(-1.1 * reflux) * (1 + 0.03 * (left + 0.5 + inert))
        return product, waste, lost

    def balances(streams):
        recycled, inert, left = streams
        product, waste, lost = parts(streams)
        return [
            10 + recycled - left - product - 2 * waste,
            (1 - purge) * (1 - lost) * left - recycled,
            (1 - purge) * (0.5 + inert) - inert,
        ]

    streams = newton(balances, [2.0, 0.5 * (1 - purge) / purge, 3.0])
    recycled, inert, left = streams
    product, waste, lost = parts(streams)
    overhead = (recycled + inert) / (1 - purge)
    vapour = (1 + reflux) * overhead
    purity = product / (product + waste + lost * left)
    profit = 100 * product - 50 * waste - 2 * vapour - recycled - inert
    return profit, np.array([0.93 - purity, vapour - 25]), np.array([recycled, inert])


def flash(decisions):
    """By bisection of the balance, which falls as the vapour fraction rises."""
    kelvin, bar = decisions
    feed = np.array([0.4, 0.35, 0.25])
    k = np.exp([10.2 - 2700 / kelvin, 10.5 - 3200 / kelvin, 10.9 - 3900 / kelvin]) / bar
    k = k * [1 - 0.015 * bar, 1 + 0.006 * bar, 1 + 0.024 * bar]
    low, high = 0.02, 0.98

    def balance(vapour):
        return (feed * (k - 1) / (1 + vapour * (k - 1))).sum()

    if balance(low) < 0 or balance(high) > 0:
        return -np.inf, np.full(1, np.inf), np.full(1, np.nan)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if balance(middle) > 0 else (low, middle)
    vapour = (low + high) / 2
    light = 0.4 * k[0] / (1 + vapour * (k[0] - 1))
    profit = 100 * vapour * light - 40 * vapour * np.log(6 / bar) - 0.2 * (kelvin - 310)
    return profit, np.array([0.6 - light]), np.array([vapour])
