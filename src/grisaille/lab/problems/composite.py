"""Known formulas around black boxes: of one layer, of networks, and of simulators of curves."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import expm

from grisaille.array_types import Array
from grisaille.errors import ModelError, shortened
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.problem import Problem
from grisaille.language.variable import Unknown, Variable

# --- composite ------------------------------------------------------------------------------------
# Unconstrained problems with one layer of black boxes inside a known formula.

PLACES = np.array([0.0, 1.0, 2.5])
"""Where the environmental model is observed."""
TIMES = np.array([15.0, 30.0, 45.0, 60.0])
"""When the environmental model is observed."""
SPILL = np.array([10.0, 0.07, 1.505, 30.1525])
"""The mass, diffusion rate, place and time of the spills that are to be found."""

_CENTRES = np.array([[3.0, 5.0, 2.0, 1.0, 7.0], [5.0, 2.0, 1.0, 4.0, 9.0]])
_WEIGHTS = np.array([1.0, 2.0, 5.0, 2.0, 3.0])


def concentrations(mass: float, diffusion: float, place: float, time: float) -> Array:
    """What is left of two spills into a channel, at 3 places and 4 times, (12,).

    c(s, t) = M / sqrt(4 pi D t) exp(-s^2 / (4 D t))
    + [t > tau] M / sqrt(4 pi D (t - tau)) exp(-(s - L)^2 / (4 D (t - tau))).

    Args:
        mass: M, spilled each time.
        diffusion: D, the rate of diffusion.
        place: L, where the second spill happens; the first one happens at 0.
        time: tau, when the second spill happens; the first one happens at 0.
    """
    return spills(PLACES, TIMES, mass, diffusion, place, time).ravel()


def spills(
    places: Array, times: Array, mass: float, diffusion: float, place: float, time: float
) -> Array:
    """What is left of two spills into a channel, at any places and times: (places, times)."""
    across = places[:, None]
    later = time < times
    left = _spread(mass, diffusion, across, times)
    left[:, later] += _spread(mass, diffusion, across - place, times[later] - time)
    return left


def environmental() -> KnownProblem:
    """Find the mass, diffusion rate, place and time of two spills from 12 concentrations.

    minimize sum_st (c(s, t) - c*(s, t))^2, where c* are the concentrations of the true spills. One
    call of the simulator gives all twelve.
    """
    variables = spill_variables()
    box = BlackBox(concentrations, name="concentrations", outputs=12, noise=0, lower=0)
    misfit = box(*variables) - concentrations(*SPILL)
    return KnownProblem(
        "Environmental model",
        Problem(minimize=np.sum(misfit**2)),
        optimum=0.0,
        x=SPILL.copy(),
        source="Bliznyuk et al. (2008); composite form after Astudillo and Frazier (2019)",
        kind=Structure.ONE_LAYER,
    )


def spill_variables() -> tuple[Variable, ...]:
    """The mass, diffusion rate, place and time of the spills."""
    return (
        Variable("M", lower=7, upper=13),
        Variable("D", lower=0.02, upper=0.12),
        Variable("L", lower=0.01, upper=3),
        Variable("tau", lower=30.01, upper=30.295),
    )


def langermann() -> KnownProblem:
    """Five squared distances from a black box, in a known sum of waves.

    maximize -sum_j c_j exp(-y_j / pi) cos(pi y_j), where y_j = (x_1 - A_1j)^2 + (x_2 - A_2j)^2.
    """
    x = Variable("x", 2, lower=0, upper=10)

    def distances(x: Array) -> Array:
        return np.asarray(((x[:, None] - _CENTRES) ** 2).sum(0))

    y = BlackBox(distances, name="distances", outputs=5, noise=0, lower=0)(x)
    return KnownProblem(
        "Langermann",
        Problem(maximize=-(_WEIGHTS @ (np.exp(-y / np.pi) * np.cos(np.pi * y)))),
        optimum=4.155809291848,
        x=np.array([2.793402207, 1.597232504]),
        source="Langermann's function; composite form after Astudillo and Frazier (2019)",
        kind=Structure.ONE_LAYER,
    )


def goldstein_price() -> KnownProblem:
    """Two polynomials from black boxes, in a known polynomial.

    minimize (1 + (x_1 + x_2 + 1)^2 (19 - 14 x_1 + 3 x_1^2 + y_2))
    (30 + y_1 (18 - 32 x_1 + 12 x_1^2 + 48 x_2 - 36 x_1 x_2 + 27 x_2^2)),
    where y_1 = (2 x_1 - 3 x_2)^2 and y_2 = -14 x_2 + 6 x_1 x_2 + 3 x_2^2.
    """
    x = Variable("x", 2, lower=-2, upper=2)
    a, b = x[0], x[1]
    first = BlackBox(lambda a, b: (2 * a - 3 * b) ** 2, name="y1", noise=0, lower=0)
    second = BlackBox(lambda a, b: -14 * b + 6 * a * b + 3 * b**2, name="y2", noise=0)
    y1, y2 = first(a, b), second(a, b)
    left = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 + y2)
    right = 30 + y1 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return KnownProblem(
        "Goldstein-Price",
        Problem(minimize=left * right),
        optimum=3.0,
        x=np.array([0.0, -1.0]),
        source="Goldstein and Price (1971), in grey-box form",
        kind=Structure.ONE_LAYER,
    )


def _spread(mass: float, diffusion: float, distance: Array, time: Array) -> Array:
    """The concentration at a distance from a spill and a time after it."""
    width = 4 * diffusion * time
    return np.asarray(mass / np.sqrt(np.pi * width) * np.exp(-(distance**2) / width))


# --- constrained ----------------------------------------------------------------------------------
# Constrained problems with one layer of black boxes.


def rosen_suzuki() -> KnownProblem:
    """Four variables, three constraints, two black boxes of two variables each."""
    x = Variable("x", 4, lower=-2, upper=2)
    first = BlackBox(lambda a, b: 2 * a**2 - 21 * a + 7 * b, name="y1", noise=0)
    second = BlackBox(lambda a, b: a**2 + 2 * b**2, name="y2", noise=0)
    y1, y2 = first(x[2], x[3]), second(x[2], x[3])
    objective = x[0] ** 2 + x[1] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] + y1
    constraints = [
        np.sum(x**2) + x[0] - x[1] + x[2] - x[3] <= 8,
        x[0] ** 2 + 2 * x[1] ** 2 + y2 - x[0] - x[3] <= 10,
        2 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[0] - x[1] - x[3] <= 5,
    ]
    return KnownProblem(
        "Rosen-Suzuki",
        Problem(minimize=objective, subject_to=constraints),
        optimum=-44.0,
        x=np.array([0.0, 1.0, 2.0, -1.0]),
        source="Rosen and Suzuki (1965); grey-box form after Lu and Paulson (2023)",
        kind=Structure.CONSTRAINED,
    )


def bazaraa() -> KnownProblem:
    """Two variables, two constraints, two black boxes."""
    x = Variable("x", 2, lower=0.01, upper=1)
    first = BlackBox(lambda b: 2 * b**2, name="y1", noise=0)
    second = BlackBox(lambda a, b: 2 * a * b + 6 * a + 4 * b, name="y2", noise=0)
    y1, y2 = first(x[1]), second(x[0], x[1])
    corner = (np.sqrt(201) - 1) / 20  # both constraints are active: 10 x_2^2 + x_2 = 5
    return KnownProblem(
        "Bazaraa",
        Problem(
            minimize=2 * x[0] ** 2 + 2 * x[1] ** 2 - y2,
            subject_to=[5 * x[0] + x[1] <= 5, y1 - x[0] <= 0],
        ),
        optimum=-6.613085467349,
        x=np.array([1 - corner / 5, corner]),
        source="Bazaraa, Sherali and Shetty; grey-box form after Lu and Paulson (2023)",
        kind=Structure.CONSTRAINED,
    )


def sinusoidal() -> KnownProblem:
    """Two variables; objective and constraint are black boxes, and nothing is known.

    minimize cos(2 x_1) cos(x_2) + sin(x_1) subject to cos(x_1 + x_2) + 0.2 <= 0.
    """
    x = Variable("x", 2, lower=0, upper=6)
    f = BlackBox(lambda a, b: np.cos(2 * a) * np.cos(b) + np.sin(a), name="f", noise=0)
    g = BlackBox(lambda a, b: np.cos(a + b) + 0.2, name="g", noise=0)
    return KnownProblem(
        "Sinusoidal",
        Problem(minimize=f(x[0], x[1]), subject_to=[g(x[0], x[1]) <= 0]),
        optimum=-1 - float(np.cos(6)),
        x=np.array([1.5 * np.pi, 6.0]),
        source="after Gardner et al. (2014), Bayesian optimization with inequality constraints",
        kind=Structure.CONSTRAINED,
    )


# --- networks -------------------------------------------------------------------------------------
# Nested problems: networks of black boxes, whose last output is maximized.

_SOURCE = "Astudillo and Frazier (2021), Bayesian optimization of function networks"


def drop_wave() -> KnownProblem:
    """Two nodes in a chain: a distance, and a wave of it."""
    x = Variable("x", 2, lower=-5.12, upper=5.12)
    distance = BlackBox(lambda x: np.hypot(x[0], x[1]), name="distance", noise=0, lower=0)
    wave = BlackBox(
        lambda r: (1 + np.cos(12 * r)) / (2 + 0.5 * r**2), name="wave", noise=0, input_lower=0
    )
    problem = Problem(maximize=wave(distance(x)))
    return KnownProblem("Drop-Wave", problem, 1.0, np.zeros(2), _SOURCE, Structure.NESTED)


def ackley() -> KnownProblem:
    """Six variables, two nodes that read them, and one that reads these."""
    x = Variable("x", 6, lower=-2, upper=2)
    squares = BlackBox(lambda x: np.mean(x**2), name="squares", noise=0, lower=0)
    cosines = BlackBox(lambda x: np.mean(np.cos(2 * np.pi * x)), name="cosines", noise=0)
    last = BlackBox(
        lambda a, b: 20 * np.exp(-0.2 * np.sqrt(a)) + np.exp(b) - 20 - np.e,
        name="last",
        noise=0,
        input_lower=[0.0, -np.inf],
    )
    problem = Problem(maximize=last(squares(x), cosines(x)))
    return KnownProblem("Ackley-6", problem, 0.0, np.zeros(6), _SOURCE, Structure.NESTED)


def rosenbrock() -> KnownProblem:
    """Five variables, four nodes in a chain; each reads two variables and the node before."""
    x = Variable("x", 5, lower=-2, upper=2)

    def first(a: float, b: float) -> float:
        return -(100 * (b - a**2) ** 2 + (a - 1) ** 2)

    y: Expression = BlackBox(first, name="y1", noise=0)(x[0], x[1])
    for k in range(1, 4):
        box = BlackBox(lambda a, b, before: first(a, b) + before, name=f"y{k + 1}", noise=0)
        y = box(x[k], x[k + 1], y)
    problem = Problem(maximize=y)
    return KnownProblem("Rosenbrock-5", problem, 0.0, np.ones(5), _SOURCE, Structure.NESTED)


def ackley_sine(costs: tuple[float, float] = (1.0, 49.0)) -> KnownProblem:
    """A cheap black box of six variables, and an expensive one that reads its output."""
    if not isinstance(costs, list | tuple) or len(costs) != 2:
        raise ModelError(f"ackley_sine(costs={shortened(costs)}): pass two numbers")
    x = Variable("x", 6, lower=-2, upper=2)

    def ackley_function(x: Array) -> float:
        root = np.sqrt(np.mean(x**2))
        return float(20 * np.exp(-0.2 * root) + np.exp(np.mean(np.cos(2 * np.pi * x))) - 20 - np.e)

    first = BlackBox(ackley_function, name="ackley", noise=0, cost=costs[0])
    second = BlackBox(
        lambda y: float(-y * np.sin(5 * y / (6 * np.pi))), name="sine", noise=0, cost=costs[1]
    )
    source = "Buathong et al. (2024), Bayesian optimization of function networks with partial "
    source += "evaluations"
    problem = Problem(maximize=second(first(x)))
    return KnownProblem("AckS", problem, 0.0, np.zeros(6), source, Structure.NESTED)


# --- coupled disciplines --------------------------------------------------------------------------
# Sellar's problem: two disciplines, each of which reads what the other one computes.


def first_discipline(z: Array, x: float, y2: float) -> float:
    """What the first discipline computes from the answer of the second one."""
    return float(z[0] ** 2 + z[1] + x - 0.2 * y2)


def second_discipline(z: Array, y1: float) -> float:
    """What the second discipline computes from the answer of the first one."""
    return float(np.sqrt(y1) + z[0] + z[1])


def coupled(z: Array, x: float) -> tuple[float, float]:
    """Both answers that agree, in closed form: sqrt(y1) solves a quadratic equation.

    Raises:
        ValueError: No answers agree.
    """
    given = z[0] ** 2 + z[1] + x - 0.2 * (z[0] + z[1])
    if given < 0:
        raise ValueError(f"no answers of both disciplines agree at z={z}, x={x}")
    root = np.sqrt(0.01 + given) - 0.1
    return float(root**2), float(root + z[0] + z[1])


def sellar() -> KnownProblem:
    """Sellar's problem, with what the disciplines tell each other as unknowns."""
    z = Variable("z", 2, lower=[-10, 0], upper=10)
    x = Variable("x", lower=0, upper=10)
    # Whatever z and x are, agreed answers lie in these ranges.
    y1 = Unknown("y1", lower=0, upper=125)
    y2 = Unknown("y2", lower=-10, upper=32)
    first = BlackBox(first_discipline, noise=0)
    second = BlackBox(second_discipline, noise=0)
    return KnownProblem(
        "Sellar",
        Problem(
            minimize=x**2 + z[1] + y1 + np.exp(-y2),
            subject_to=[y1 >= 3.16, y2 <= 24],
            equations=[y1 == first(z, x, y2), y2 == second(z, y1)],
        ),
        optimum=3.183393951640614,
        x=np.array([0, 1.9776388834631178, 0, 3.16, 3.7552777669262354]),
        source="Sellar, Batill and Renaud (1996)",
        kind=Structure.CONSTRAINED,
    )


# --- curves and fields ----------------------------------------------------------------------------

FIELD_PLACES = np.linspace(0, 2.5, 50)
"""Where the field of the environmental model is observed."""
FIELD_TIMES = np.linspace(15, 60, 20)
"""When it is observed."""

SAMPLES = np.array([0.25, 0.5, 1.0, 2.0, 4.0])
"""When the batches are sampled, in hours."""
TEMPERATURES = np.array([340.0, 360.0])
"""Temperature of each batch, in K."""
RATES = np.array([1.2, 0.6, 0.25, 0.35, 0.15])
"""The rate constants at 350 K that are to be found, in 1/h."""
ENERGIES = np.array([85.0, 70.0, 95.0, 60.0, 75.0])
"""The activation energies that are to be found, in kJ/mol."""

_REACTIONS = ((0, 1), (1, 2), (2, 1), (1, 3), (2, 4))
_GAS_CONSTANT = 8.314e-3
_REFERENCE = 350.0


def environmental_field(shared_kernel: bool = True) -> KnownProblem:
    """Find two spills from 1,000 concentrations: 50 places at 20 times.

    The environmental model with more measurements; one call of the simulator gives all of them.

    Args:
        shared_kernel: Whether one kernel serves all outputs; else each has its own.
    """
    simulate = partial(spills, FIELD_PLACES, FIELD_TIMES)
    measured = simulate(*SPILL).ravel()
    field = BlackBox(
        simulate,
        name="field",
        outputs=len(measured),
        noise=0,
        lower=0,
        shared_kernel=shared_kernel,
    )
    return KnownProblem(
        "Environmental field",
        Problem(minimize=np.sum((field(*spill_variables()) - measured) ** 2)),
        optimum=0.0,
        x=SPILL.copy(),
        source="Bliznyuk et al. (2008), on a grid of 50 places and 20 times",
        kind=Structure.ONE_LAYER,
    )


def composition(rates: Array, energies: Array) -> Array:
    """Mole fractions of five species in two batches, at five times each, (50,).

    A -> B, B -> C, C -> B, B -> D, C -> E, all of first order: dc/dt = M c from pure A, where the
    rate constant of reaction i at temperature T is k_i exp(-E_i / R (1 / T - 1 / 350 K)).

    Args:
        rates: k, rate constants at 350 K, in 1/h.
        energies: E, activation energies in kJ/mol.
    """
    fractions = []
    for temperature in TEMPERATURES:
        arrhenius = np.exp(-energies / _GAS_CONSTANT * (1 / temperature - 1 / _REFERENCE))
        matrix = np.zeros((5, 5))
        for (source, target), rate in zip(_REACTIONS, rates * arrhenius, strict=True):
            matrix[source, source] -= rate
            matrix[target, source] += rate
        fractions += [expm(matrix * hours)[:, 0] for hours in SAMPLES]
    return np.clip(np.ravel(fractions), 0, 1)  # rounding must not leave the declared range


def kinetic_calibration(shared_kernel: bool = True) -> KnownProblem:
    """Find five rate constants and five activation energies from 50 measured mole fractions.

    minimize sum_j (c_j(k, E) - c*_j)^2, where c* are the fractions for the true parameters.

    Args:
        shared_kernel: Whether one kernel serves all outputs; else each has its own.
    """
    rates = Variable("k", 5, lower=0.05, upper=5, log=True)
    energies = Variable("E", 5, lower=40, upper=120)
    batches = BlackBox(
        composition,
        name="composition",
        outputs=50,
        noise=0,
        lower=0,
        upper=1,
        shared_kernel=shared_kernel,
    )
    # Rounded, so that every processor states the same problem: its last bits would be in the
    # fingerprint, and a stored study could not go on elsewhere.
    measured = np.round(composition(RATES, ENERGIES), 12)
    misfit = batches(rates, energies) - measured
    return KnownProblem(
        "Kinetic calibration",
        Problem(minimize=np.sum(misfit**2)),
        optimum=0.0,
        x=np.concatenate([RATES, ENERGIES]),
        source="written for this library",
        kind=Structure.ONE_LAYER,
    )
