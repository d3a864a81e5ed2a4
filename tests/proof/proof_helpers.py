"""Problems of all kinds with plausible points, to hold against bounds over regions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

import grisaille as gs
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.language.program import BoxCall
from grisaille.proof.relaxation import PlausibleRelaxation
from tests.belief.belief_helpers import history_at, plausible_set, random_design

SE = gs.SquaredExponential(0.7, 1.3)


def black_box(name, function, kernel=SE, noise=0.05, **options):
    return gs.BlackBox(function, name=name, noise=noise, kernel=kernel, **options)


def wave(name="f", **options):
    return black_box(name, lambda s: np.sin(3 * s), **options)


def bump(name="g", **options):
    return black_box(name, lambda s: np.sum(np.cos(2 * np.atleast_1d(s))), **options)


def scalar(name="x", lower=-1.0, upper=1.0):
    return gs.Variable(name, lower=lower, upper=upper)


# --- Problems -----------------------------------------------------------------------------------


def linear_program():
    x = gs.Variable("x", 2, lower=0, upper=[2.0, 3.0])
    f, g = bump("f"), bump("g", kernel=gs.SquaredExponential([0.6, 2.0], 0.8))
    rows = np.array([[1.0, 2.0], [-1.0, 0.5]])
    return gs.Problem(
        minimize=np.array([-1.0, 0.3]) @ x + 2 * f(x) - g(x),
        subject_to=[rows @ x + f(x) <= np.array([2.0, 1.0]), g(x) - 0.2 * f(x) <= 0.4],
    )


def many_inputs():
    x = gs.Variable("x", 4, lower=-1, upper=1)
    f, g = bump("f", kernel=gs.SquaredExponential([0.8, 1.5, 3.0, 0.9], 1.0)), bump("g")
    return gs.Problem(minimize=f(x) + 0.1 * x[0], subject_to=[g(x) + f(x) <= 0.5])


def chain():
    x = scalar()
    f, g = wave("f"), wave("g")
    return gs.Problem(minimize=g(f(x)), subject_to=[f(x) - x <= 0.3])


def chain_through_white_boxes():
    x = scalar()
    f, g, h = wave("f"), wave("g", kernel=gs.Matern(2.5, 1.1, 0.6)), wave("h")
    inner = f(x) ** 2 + 3 * f(x) - 1
    return gs.Problem(minimize=h(g(inner) + x), subject_to=[g(inner) - np.tanh(inner) <= 0.2])


def shifted_square():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = bump("f")
    return gs.Problem(minimize=(f(x) - 0.7) ** 2 + 0.1 * x[1], subject_to=[0.5 - f(x) <= 0])


def products_and_quotients():
    x, y = scalar(), scalar("y", 1.0, 2.5)
    f, g = wave("f"), wave("g")
    return gs.Problem(
        minimize=x * f(x) - g(y) / y + f(x) * g(y),
        subject_to=[y / (g(y) + 5) - 0.4 <= 0, x * x * f(x) - y <= 0],
    )


def exponentials():
    x = scalar()
    f, g = wave("f"), wave("g")
    return gs.Problem(
        minimize=np.exp(f(x)) - 2 * np.exp(-g(x)) + np.log(f(x) + 9),
        subject_to=[np.sqrt(g(x) + 7) - 2.6 <= 0],
    )


def branches():
    x = scalar()
    f, g = wave("f"), wave("g")
    return gs.Problem(
        minimize=np.where(x <= 0.2, f(x), 2 * g(x) + 1) + np.where(g(x) <= 0.1, f(x), -x),
        subject_to=[np.maximum(f(x), g(x)) - abs(f(x)) <= 0.3, np.minimum(f(x), x) <= 0.5],
    )


def called_twice():
    x, y = scalar(), scalar("y")
    f = wave("f")
    return gs.Problem(minimize=f(x) - 2 * f(y), subject_to=[f(f(x) * 0.5) - f(x) <= 0.2])


def several_outputs():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    pair = black_box(
        "pair", lambda s: np.array([np.sin(s[0]), s[1] ** 2, s[0] * s[1]]), outputs=3, noise=0.1
    )
    after = bump("after")
    z = pair(x)
    return gs.Problem(
        minimize=z[0] + after(np.stack([z[2], x[0]])),
        subject_to=[z[1] - z[0] * x[1] <= 0.1, np.linalg.norm(z[:2]) <= 1.5, z - x[0] <= 1],
    )


def partly_nonlinear_outputs():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    pair = black_box(
        "pair", lambda s: np.array([np.sin(s[0]), 1 + s[1] ** 2]), outputs=2, noise=0.1
    )
    z = pair(x)
    return gs.Problem(
        minimize=2 * z[0] - z[1] ** 2, subject_to=[z[0] - 3 * z[1] <= 1, x[0] * z[0] + z[1] <= 2]
    )


def rearranged_states():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f, g = bump("f"), bump("g")
    z = f(np.stack([x[1], x[0], x[0], x[1] * x[0] - 0.3, np.sum(x) / 3]))
    again = f(np.concatenate([x, x, [0.3]])[::-1])
    return gs.Problem(
        minimize=g(np.stack([z, x[0], x[1], z, 0.1 * again])) - z + x[0],
        subject_to=[again - z * x[0] <= 1, z + again - x[1] <= 2],
    )


def shared_nodes():
    x, y = scalar(), scalar("y")
    f = wave("f")
    z = f(x + y)
    w = z * y
    return gs.Problem(minimize=w + w**2 - z, subject_to=[w - z <= 0.2, z + y <= 0.8, -w <= 1])


def accepted_inputs():
    x, y = scalar(), scalar("y")
    f = wave("f", input_lower=-0.3, input_upper=0.6)
    g = wave("g", input_lower=-0.2)
    two = bump("two", input_upper=[0.4, 5.0])
    return gs.Problem(
        minimize=f(x) + g(2 * x - y) - two(np.stack([x, y])),
        subject_to=[
            g(f(y) * 1.5) - x <= 0.2,
            -f(3 * x) <= 0.4,
            f(x) - 2 * x <= 1,
            2 * x - f(x) <= 1,
            f(x) + 2 * x <= 1,
        ],
    )


def declared_ranges():
    x = scalar()
    f = wave("f", lower=-0.6, upper=0.5)
    g = wave("g", norm_bound=0.9, kernel=gs.SquaredExponential(0.7, 1.0), noise=0.3)
    h = wave("h", lower=0.2)
    return gs.Problem(minimize=f(x) - g(x) - h(x), subject_to=[g(f(x)) + h(x) ** 2 <= 1])


def off_its_declared_range():
    x = scalar()
    f = black_box("f", lambda s: 3 + 0 * s, upper=1.0, kernel=gs.SquaredExponential(2.0, 4.0))
    g = black_box("g", lambda s: -3 + 0 * s, lower=-1.0, kernel=gs.SquaredExponential(2.0, 4.0))
    return gs.Problem(minimize=f(x) - f(x) ** 2 + g(x), subject_to=[g(x) ** 2 - x <= 2])


def linear_kernels():
    x = gs.Variable("x", 2, lower=[-1, 0.5], upper=[2, 3])
    f = black_box("f", lambda s: s[0] - 2 * s[1], kernel=gs.Linear([1.0, 3.0], 1.5))
    g = black_box("g", lambda s: 0.3 * s, kernel=gs.Linear(1.0, 0.5))
    return gs.Problem(minimize=f(x) - x[0] ** 2, subject_to=[g(f(x)) - f(x) * x[1] <= 5])


def norm_bounds_of_linear_kernels():
    x = gs.Variable("x", 2, lower=[-1, 0.5], upper=[2, 3])
    f = black_box("f", lambda s: s[0] - s[1], kernel=gs.Linear([1.0, 2.0], 0.5), norm_bound=5.0)
    g = black_box("g", lambda s: 0.3 * s, kernel=gs.Linear(1.0, 0.5), norm_bound=0.6, lower=-1.0)
    return gs.Problem(minimize=f(x) - x[0] ** 2, subject_to=[g(f(x)) - f(x) * x[1] <= 5])


def declared_slopes():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = black_box("f", lambda s: np.sin(s[0]) - s[1] ** 3, noise=0, lipschitz=[1.0, 3.0])
    g = black_box(
        "g",
        lambda s: np.array([np.tanh(s[0]) + s[1], s[0] * s[1]]),
        outputs=2,
        noise=0,
        monotone=[["increasing", "increasing"], [None, None]],
        lipschitz=[[1.0, 1.0], [3.0, 3.0]],
    )
    rising = {"monotone": "increasing", "input_lower": -0.5, "input_upper": 0.5}
    h = black_box("h", np.tanh, noise=0, **rising)
    z = g(np.stack([f(x), x[0]]))
    return gs.Problem(
        minimize=f(x) - z[0] + h(x[1]), subject_to=[z[1] - h(z[0]) * x[0] <= 0.3, -z[0] <= 1]
    )


def bands_off_their_declared_intervals():
    # Bands of a kernel that is far too stiff are wrong, and lie mostly outside the intervals.
    x = gs.Variable("x", 2, lower=-1, upper=1)
    stiff = gs.SquaredExponential(5.0, 0.04)
    f = bump("f", kernel=stiff, noise=0, lipschitz=2.0)
    g = black_box("g", lambda s: s[0] ** 3, kernel=stiff, noise=0, monotone=["increasing", None])
    h = black_box(
        "h", lambda s: 4 - s, kernel=gs.Linear(1.0, 1.0), noise=0, lipschitz=1.5, upper=9.0
    )
    return gs.Problem(
        minimize=f(x) - 2 * g(x) + h(1 / (x[0] + 1)), subject_to=[g(x) + h(f(x)) - f(x) <= 1]
    )


def rough_kernels():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = bump("f", kernel=gs.Matern(0.5, 1.0, 1.0))
    g = bump("g", kernel=gs.Matern(1.5, [0.5, 2.0], 2.0))
    h = bump("h", kernel=gs.Matern(2.5, 0.6, 0.7), noise=0.001)
    return gs.Problem(minimize=f(x) - h(x), subject_to=[g(x) - f(x) ** 2 <= 0.2, h(g(x) * x) <= 1])


def known_functions():
    x = gs.Variable("x", 2, lower=0.1, upper=1)
    f = bump("f")
    white = gs.WhiteBox(lambda v: np.sin(v[0]) + 0.5 * v[1], name="white", lipschitz=[1.0, 0.5])
    return gs.Problem(
        minimize=white(np.stack([f(x), x[0]])) + np.arctan2(x[0], f(x) + 5),
        subject_to=[x @ x + np.max(x) * f(x) <= 1.5, np.prod(x) ** f(x) <= 2],
    )


def learned():
    x = gs.Variable("x", 2, lower=[1e4, -1], upper=[1e4 + 2, 1])
    f = gs.BlackBox(lambda s: 100 + np.sin(s[0] - 1e4) * s[1], name="f", noise=0.01)
    g = gs.BlackBox(lambda s: s / 100, name="g", noise=0.01)
    return gs.Problem(minimize=f(x) + x[1], subject_to=[g(f(x)) - 2 <= 0])


def decades(name="k", lower=1e-3, upper=1e3, shape=(), **options):
    return gs.Variable(name, shape, lower=lower, upper=upper, log=True, **options)


def over_decades():
    # Learned in the logarithm, in part of it, in their own units, and beside known parts.
    k, x = decades(shape=2, lower=[1e-3, 1e-6], upper=[1e3, 2.0]), scalar()
    f = gs.BlackBox(lambda s: np.sin(np.log(s)).sum(), name="f", noise=0.01)
    g = gs.BlackBox(lambda a, b: np.log10(a) - b**2, name="g", noise=0.01)
    h = black_box("h", lambda s: np.tanh(s / 100), kernel=gs.Matern(2.5, 200.0, 1.0))
    return gs.Problem(
        minimize=f(k) + h(k[0]) - 0.1 * np.log(k[1]) + 1e-3 * k[0] * x,
        subject_to=[g(k[1], x) + 0.1 * f(k) ** 2 <= 3, k[0] * k[1] <= 500, h(f(k)) <= 1],
    )


def monotone_over_decades():
    k, x = decades(), scalar(lower=0.5, upper=2.0)
    f = gs.BlackBox(
        lambda a, b: np.log(a) + b,
        name="f",
        noise=0,
        monotone=["increasing", None],
        input_lower=[1e-2, 0.0],
    )
    g = gs.BlackBox(
        lambda a: -np.sqrt(a), name="g", noise=0, monotone="decreasing", input_upper=300.0
    )
    return gs.Problem(minimize=f(k, x) - g(k), subject_to=[f(k, x) * x + g(k) <= 4])


def steps_of_all_kinds():
    k, x = decades(step=0.01), gs.Variable("x", 2, lower=-1, upper=1, step=[0.3, 0.5])
    f = gs.BlackBox(lambda a, s: np.log(a) + np.sum(s**2), name="f", noise=0.01)
    return gs.Problem(minimize=f(k, x) + x[0], subject_to=[np.sqrt(k) - x[1] <= 20])


PROBLEMS = {
    make.__name__: make
    for make in (
        linear_program,
        many_inputs,
        chain,
        chain_through_white_boxes,
        shifted_square,
        products_and_quotients,
        exponentials,
        branches,
        called_twice,
        several_outputs,
        partly_nonlinear_outputs,
        rearranged_states,
        shared_nodes,
        accepted_inputs,
        declared_ranges,
        off_its_declared_range,
        linear_kernels,
        norm_bounds_of_linear_kernels,
        declared_slopes,
        bands_off_their_declared_intervals,
        rough_kernels,
        known_functions,
        learned,
        over_decades,
        monotone_over_decades,
        steps_of_all_kinds,
    )
}


# --- Points --------------------------------------------------------------------------------


@dataclass
class Points:
    """Plausible points: where they are among the branching variables, and what they are worth."""

    at: Tensor
    values: Tensor  # objective, then constraints


def plausible_points(
    plausible: PlausibleSet, relaxation: PlausibleRelaxation, count: int, seed: int
) -> Points:
    """Random ones: inside, on faces, and at corners of the region of (x, eta)."""
    generator = torch.Generator().manual_seed(seed)
    size = (count, len(plausible.lower))
    unit = torch.rand(size, generator=generator, dtype=torch.float64)
    pushed = torch.rand(size, generator=generator, dtype=torch.float64)
    unit = torch.where(pushed < 0.15, 0.0, torch.where(pushed > 0.85, 1.0, unit))
    points = plausible.lower + (plausible.upper - plausible.lower) * unit
    n = plausible.program.size
    outputs: list[Tensor] = []

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        lower, upper = plausible.band(call, states)
        eta = points[:, n:][:, call.columns]
        answer = (lower + upper) / 2 + eta * (upper - lower) / 2
        outputs.append(answer)
        return answer

    with torch.no_grad():
        plausible.program.run(plausible.program.space.to_design(points[:, :n]), resolve)
        objective, constraints = plausible.evaluate(points)
    values = torch.cat([objective.unsqueeze(1), constraints], 1)
    branched = torch.tensor(relaxation.column_of_output >= 0)
    at = torch.cat([points[:, :n], torch.cat(outputs, 1)[:, branched]], 1)
    usable = values.isfinite().all(1) & at.isfinite().all(1)
    return Points(at[usable], values[usable])


def prepared(make, observations=7, beta=2.0, seed=0) -> tuple[PlausibleSet, PlausibleRelaxation]:
    problem = make()
    history = history_at(problem, random_design(problem, observations, seed))
    plausible = plausible_set(problem, history, beta)
    with torch.no_grad():
        return plausible, PlausibleRelaxation(plausible)
