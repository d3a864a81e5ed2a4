"""The known problems once more, in NumPy alone: what the library's own are compared with.

Each formula maps points (batch, n) to the objective (batch,), in the problem's own sense, and the
constraints (batch, K), met when <= 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grisaille.lab.problems import KnownProblem
from grisaille.lab.problems.paper_examples import GaussianDraw

Formula = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
SEED = 3


def free(objective: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return objective, np.zeros((len(objective), 0))


def environmental(x):
    def c(m, d, place, tau):
        columns = []
        for s in (0.0, 1.0, 2.5):
            for t in (15.0, 30.0, 45.0, 60.0):
                value = m / np.sqrt(4 * np.pi * d * t) * np.exp(-(s**2) / (4 * d * t))
                if t > 40:  # every tau allowed lies between the second and the third time
                    value = value + m / np.sqrt(4 * np.pi * d * (t - tau)) * np.exp(
                        -((s - place) ** 2) / (4 * d * (t - tau))
                    )
                columns.append(value)
        return np.stack(columns, -1)

    return free(((c(*x.T) - c(10.0, 0.07, 1.505, 30.1525)) ** 2).sum(-1))


def environmental_field(x):
    places, times = (2.5 * np.arange(50) / 49)[:, None], 15 + 45 * np.arange(20) / 19

    def c(m, d, place, tau):
        since = np.where(times > 30.5, times - tau, np.inf)  # no time is among the allowed tau
        parts = []
        for distance, t in ((places, times), (places - place, since)):
            parts.append(np.exp(-(distance**2) / (4 * d * t)) / np.sqrt(4 * np.pi * d * t))
        return m * sum(parts)

    best = c(10.0, 0.07, 1.505, 30.1525)
    return free(np.array([((c(*point) - best) ** 2).sum() for point in x]))


def kinetic_calibration(x):
    def fractions(k, e):  # by eigenvalues, for (batch, 5) each
        columns = []
        for kelvin in (340.0, 360.0):
            r = (k * np.exp(-1000 * e / 8.314 * (1 / kelvin - 1 / 350))).T
            zero = np.zeros_like(r[0])
            rows = [
                [-r[0], zero, zero, zero, zero],
                [r[0], -r[1] - r[3], r[2], zero, zero],
                [zero, r[1], -r[2] - r[4], zero, zero],
                [zero, r[3], zero, zero, zero],
                [zero, zero, r[4], zero, zero],
            ]
            values, vectors = np.linalg.eig(np.moveaxis(np.array(rows), -1, 0))
            start = np.linalg.solve(vectors, np.tile(np.eye(5)[:, :1], (len(k), 1, 1)))[..., 0]
            for t in (0.25, 0.5, 1.0, 2.0, 4.0):
                columns.append(((vectors * np.exp(values * t)[:, None]) @ start[..., None]).real)
        return np.concatenate(columns, 1)[..., 0]

    true = np.array([[1.2, 0.6, 0.25, 0.35, 0.15]]), np.array([[85.0, 70.0, 95.0, 60.0, 75.0]])
    return free(((fractions(x[:, :5], x[:, 5:]) - fractions(*true)) ** 2).sum(1))


def langermann(x):
    total = np.zeros(len(x))
    for a, b, c in ((3, 5, 1), (5, 2, 2), (2, 1, 5), (1, 4, 2), (7, 9, 3)):
        y = (x[:, 0] - a) ** 2 + (x[:, 1] - b) ** 2
        total -= c * np.exp(-y / np.pi) * np.cos(np.pi * y)
    return free(total)


def goldstein_price(x):
    a, b = x.T
    left = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    right = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return free(left * right)


def rosen_suzuki(x):
    a, b, c, d = x.T
    f = a**2 + b**2 + 2 * c**2 + d**2 - 5 * a - 5 * b - 21 * c + 7 * d
    g = [
        a**2 + b**2 + c**2 + d**2 + a - b + c - d - 8,
        a**2 + 2 * b**2 + c**2 + 2 * d**2 - a - d - 10,
        2 * a**2 + b**2 + c**2 + 2 * a - b - d - 5,
    ]
    return f, np.stack(g, -1)


def bazaraa(x):
    a, b = x.T
    f = 2 * a**2 + 2 * b**2 - 2 * a * b - 6 * a - 4 * b
    return f, np.stack([5 * a + b - 5, 2 * b**2 - a], -1)


def sinusoidal(x):
    a, b = x.T
    return np.cos(2 * a) * np.cos(b) + np.sin(a), (np.cos(a + b) + 0.2)[:, None]


def williams_otto(u):
    """The steady state by Newton's method on the three balances that do not follow from others."""
    feed, kelvin = u[:, 0], u[:, 1] + 273.15
    k1 = 1.6599e6 * np.exp(-6666.7 / kelvin) * 2105.2
    k2 = 7.2117e8 * np.exp(-8333.3 / kelvin) * 2105.2
    k3 = 2.6745e12 * np.exp(-11111.0 / kelvin) * 2105.2
    out = 1.8275 + feed
    a, b, c = np.full(len(u), 0.1), np.full(len(u), 0.4), np.full(len(u), 0.02)
    for _ in range(30):
        # The balance of P gives p = k2 b c / (out + k3 c / 2).
        p = k2 * b * c / (out + 0.5 * k3 * c)
        p_b = k2 * c / (out + 0.5 * k3 * c)
        p_c = k2 * b * out / (out + 0.5 * k3 * c) ** 2
        residual = np.stack(
            [
                1.8275 - k1 * a * b - out * a,
                feed - k1 * a * b - k2 * b * c - out * b,
                2 * k1 * a * b - 2 * k2 * b * c - k3 * c * p - out * c,
            ],
            -1,
        )
        zero = np.zeros_like(a)
        slopes = np.array(
            [
                [-k1 * b - out, -k1 * a, zero],
                [-k1 * b, -k1 * a - k2 * c - out, -k2 * b],
                [
                    2 * k1 * b,
                    2 * k1 * a - 2 * k2 * c - k3 * c * p_b,
                    -2 * k2 * b - k3 * p - k3 * c * p_c - out,
                ],
            ]
        )
        step = np.linalg.solve(np.moveaxis(slopes, -1, 0), residual[..., None])[..., 0]
        a, b, c = a - step[:, 0], b - step[:, 1], c - step[:, 2]
    assert np.abs(residual).max() < 1e-12
    p = k2 * b * c / (out + 0.5 * k3 * c)
    e, g = 2 * k2 * b * c / out, 1.5 * k3 * c * p / out
    assert min(a.min(), b.min(), c.min()) > 0
    profit = 1043.38 * p * out + 20.92 * e * out - 79.23 * 1.8275 - 118.34 * feed
    return -profit, np.stack([a - 0.12, g - 0.08], -1)


def flowsheet(x):
    """The hottest steady state of the reactor, at the root of its balance of heat."""
    flow, c, feed, coolant, volume, recovery = x.T
    tau, transfer = volume / flow, 3000 * volume ** (2 / 3)

    def concentrations(kelvin):
        warmth = (1 / kelvin - 1 / 400) / 8.314e-3
        a = c / (1 + 15 * np.exp(-70 * warmth) * tau)
        # The balance of B is quadratic: b + 2 k2 tau b^2 = c - a.
        b = 2 * (c - a) / (1 + np.sqrt(1 + 0.16 * np.exp(-85 * warmth) * tau * (c - a)))
        return a, b

    def heat(kelvin):
        a, b = concentrations(kelvin)
        made = 80e3 * (c - a) + 20e3 * (c - a - b)
        return flow * made - 2000 * flow * (kelvin - feed) - transfer * (kelvin - coolant)

    least, most = np.minimum(feed, coolant) - 1, np.maximum(feed + 50 * c, coolant) + 1
    for count in (400, *[16] * 11):  # ever finer, above the highest root but the last step
        kelvin = most - (most - least) * np.linspace(0, 1, count + 1)[:, None]
        first = np.argmax(heat(kelvin) > 0, axis=0)
        rows = np.arange(len(x))
        least, most = kelvin[first, rows], kelvin[np.maximum(first - 1, 0), rows]
    a, b = concentrations(most)
    left, product, waste = flow * a, flow * b, flow * (c - a - b) / 2
    purity = product / (product + (1 - recovery) * left + 0.1 * waste)
    vapour = recovery * left * (0.8 + 0.2 / (1 - recovery))
    profit = (
        160 * product
        - 90 * (c * flow - recovery * left)
        - 20 * waste
        - 0.7 * vapour
        - 0.04 * flow * (feed - 300)
        - 20 * flow
        - 50 * volume**0.6
    )
    return profit, np.stack([0.985 - purity, most - 390, vapour - 8, waste - 0.2], -1)


def pressure_vessel(x):
    shell, radius, length, head = x.T
    shell, head = shell / 16, head / 16
    cost = (0.6224 * shell * length + 1.7781 * head * radius) * radius + shell**2 * (
        3.1661 * length + 19.84 * radius
    )
    content = np.pi * radius**2 * (length + 4 * radius / 3)
    limits = [0.0193 * radius - shell, 0.00954 * radius - head, 1_296_000 - content]
    return cost, np.stack(limits, -1)


def speed_reducer(x):
    """With the limits scaled as the problem states them, in the order of the literature."""
    b, m, z, l1, l2, d1, d2 = x.T
    weight = (
        0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
        - 1.508 * b * (d1**2 + d2**2)
        + 7.4777 * (d1**3 + d2**3)
        + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    )
    limits = [
        27 / (b * m**2 * z) - 1,
        397.5 / (b * m**2 * z**2) - 1,
        1.93 * l1**3 / (m * z * d1**4) - 1,
        1.93 * l2**3 / (m * z * d2**4) - 1,
        10 * np.sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / d1**3 - 1100,
        10 * np.sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / d2**3 - 850,
        m * z - 40,
        5 * m - b,
        b - 12 * m,
        1.5 * d1 + 1.9 - l1,
        1.1 * d2 + 1.9 - l2,
    ]
    return weight, np.stack(limits, -1)


def catalyst_choice(x):
    """The two balances of the reactor: what is left of A, and of what reacted."""
    label, kelvin, hours, kilograms = x.T
    label = label.astype(int)
    rate1, energy1 = np.array([[1.6, 3.2, 4.0, 1.0], [70, 50, 55, 60]])[:, label]
    rate2, energy2 = np.array([[0.08, 0.16, 0.1, 0.03], [80, 75, 85, 95]])[:, label]
    price = np.array([8.0, 14.0, 38.0, 11.0])[label]
    k1 = kilograms * rate1 * np.exp(energy1 / 8.314e-3 * (1 / 400 - 1 / kelvin))
    k2 = kilograms * rate2 * np.exp(energy2 / 8.314e-3 * (1 / 400 - 1 / kelvin))
    a = 1 / (1 + k1 * hours)
    c = (1 - a) * k2 * hours / (1 + k2 * hours)
    profit = 300 * (1 - a - c) - 60 - price * kilograms - 20 * hours - 0.2 * (kelvin - 350)
    return profit, (c - 0.08)[:, None]


def additive_choice(x):
    """With the effects of pairs as a symmetric matrix."""
    effects = np.diag([6.0, 5.5, 4.0, 3.0, 5.0, 2.0, 3.5, 1.0])
    for i, j, effect in (
        *((0, 1, -3), (0, 4, -1.5), (0, 7, 1), (1, 4, -2), (1, 6, -1)),
        *((2, 5, 2.5), (2, 7, 1.5), (3, 5, 1), (3, 6, 2), (5, 7, 2)),
    ):
        effects[i, j] = effects[j, i] = effect / 2
    strength = 20 - 20 * np.exp(-np.einsum("bi,ij,bj->b", x, effects, x) / 12)
    cost = x @ [3, 2.5, 1.5, 1, 2.5, 0.5, 1.5, 0.5]
    return 1.5 * strength - cost, x.sum(1, keepdims=True) - 3


def drop_wave(x):
    r = np.sqrt((x**2).sum(-1))
    return free((1 + np.cos(12 * r)) / (2 + 0.5 * r**2))


def ackley(x):
    root = np.sqrt((x**2).sum(-1) / 6)
    waves = np.cos(2 * np.pi * x).sum(-1) / 6
    return free(20 * np.exp(-0.2 * root) + np.exp(waves) - 20 - np.e)


def rosenbrock(x):
    steps = 100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (x[:, :-1] - 1) ** 2
    return free(-steps.sum(-1))


def ackley_sine(x):
    y = ackley(x)[0]
    return free(-y * np.sin(5 * y / (6 * np.pi)))


def draws(known: KnownProblem) -> list[Callable[..., np.ndarray]]:
    """The drawn functions of a problem, each of columns (batch,), in order of their names."""
    boxes = sorted(known.problem.boxes, key=lambda box: box.name)
    return [_drawn(box.fn) for box in boxes]


def _drawn(draw: GaussianDraw) -> Callable[..., np.ndarray]:
    knots, weights = draw._knots.numpy(), draw._weights.numpy()

    def function(*columns: np.ndarray) -> np.ndarray:
        squares = sum((c[:, None] - k) ** 2 for c, k in zip(columns, knots.T, strict=True))
        values = 0.5 * np.exp(-squares) @ weights
        return values if values.shape[1] > 1 else values[:, 0]

    return function


def additive(known: KnownProblem) -> Formula:
    first, second, third = draws(known)
    return lambda x: free(
        first(x[:, 0], x[:, 1]) + second(x[:, 1], x[:, 2]) + third(x[:, 0], x[:, 2])
    )


def sum_of_squares(known: KnownProblem) -> Formula:
    first, second = draws(known)
    return lambda x: free(first(*x.T) ** 2 + second(*x.T) ** 2)


def shifted_square(known: KnownProblem) -> Formula:
    (first,) = draws(known)
    return lambda x: free((first(x[:, 0], x[:, 1]) - x[:, 2]) ** 2 + x[:, 2] ** 2)


def chain(known: KnownProblem) -> Formula:
    first, last = draws(known)

    def formula(x):
        y = first(*x.T)
        return free(last(y**2 + 3 * y - 3))

    return formula


def lp_with_embedded_gp(_known: KnownProblem) -> Formula:
    """Drawn again from its seed: the first attempt that a grid finds feasible."""
    axis = np.linspace(-2, 2, 81)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    for attempt in range(100):
        generator = np.random.default_rng([SEED, attempt])
        h = _drawn(GaussianDraw(generator, 2, [(-2.0, 2.0)] * 2))
        angles = generator.uniform(0, 2 * np.pi, 7)
        c1, c2, b, row1, row2, row3, row4 = np.stack([np.cos(angles), np.sin(angles)], 1)

        def formula(x, h=h, c1=c1, c2=c2, b=b, rows=(row1, row2, row3, row4)):
            y = h(*x.T)
            first = x @ rows[0] + y @ rows[2] + b[0]
            second = x @ rows[1] + y @ rows[3] + b[1]
            return x @ c1 + y @ c2, np.stack([first, second], -1)

        if (formula(grid)[1] <= 0).all(1).any():
            return formula
    raise AssertionError("no feasible instance in a hundred")


FIXED: dict[str, Formula] = {
    make.__name__: make
    for make in (
        environmental,
        environmental_field,
        kinetic_calibration,
        langermann,
        goldstein_price,
        rosen_suzuki,
        bazaraa,
        sinusoidal,
        williams_otto,
        flowsheet,
        pressure_vessel,
        speed_reducer,
        catalyst_choice,
        additive_choice,
        drop_wave,
        ackley,
        rosenbrock,
        ackley_sine,
    )
}
DRAWN: dict[str, Callable[[KnownProblem], Formula]] = {
    make.__name__: make
    for make in (additive, sum_of_squares, shifted_square, chain, lp_with_embedded_gp)
}


def formula_of(name: str, known: KnownProblem) -> Formula:
    """The formula of a known problem; of a drawn one, for its draws."""
    return FIXED[name] if name in FIXED else DRAWN[name](known)
