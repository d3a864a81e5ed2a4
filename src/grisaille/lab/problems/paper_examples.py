"""The paper's own problems: black boxes drawn from Gaussian processes inside known formulas."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.processes.kernels import SquaredExponential
from grisaille.checks import check_seed
from grisaille.lab.problems.known_problem import KnownProblem, Structure, measured
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, split_outputs
from grisaille.language.variable import Variable
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import SearchProblem, Solution

KERNEL = SquaredExponential(lengthscale=np.sqrt(0.5), variance=0.5)
"""The paper's kernel, exp(-|x - y|^2) / 2."""

_SOURCE = "Xu, Jiang, Svetozarevic and Jones, the paper this library implements"


class GaussianDraw:
    """A function drawn from a zero-mean Gaussian process with the paper's kernel.

    The process is sampled on a grid four times finer than a length-scale and interpolated by the
    kernel itself, so the draw is a function of known norm in the kernel's space.

    Args:
        generator: Where the randomness comes from.
        outputs: How many independent functions.
        ranges: (lower, upper) for each input.
        noise: Standard deviation of the noise of single calls; `batch` is always free of it.
    """

    def __init__(
        self,
        generator: np.random.Generator,
        outputs: int,
        ranges: list[tuple[float, float]],
        noise: float = 0.0,
    ) -> None:
        assert KERNEL.lengthscale is not None
        assert KERNEL.variance is not None
        self._lengthscale = KERNEL.lengthscale[0]
        self._variance = KERNEL.variance
        spacing = self._lengthscale / 4
        axes = [
            torch.linspace(low, high, int(np.ceil((high - low) / spacing)) + 1, dtype=torch.float64)
            for low, high in ranges
        ]
        self._knots = torch.cartesian_prod(*axes).reshape(-1, len(axes))
        covariance = self._covariance(self._knots)
        identity = torch.eye(len(self._knots), dtype=torch.float64)
        factor = torch.linalg.cholesky(covariance + 1e-8 * self._variance * identity)
        white = torch.tensor(generator.standard_normal((len(self._knots), outputs)))
        self._weights = torch.linalg.solve_triangular(factor.T, white, upper=True)
        squared = (self._weights * (covariance @ self._weights)).sum(0)
        self.norms: Array = squared.sqrt().numpy()
        self._noise = noise
        self._generator = generator.spawn(1)[0]

    def _covariance(self, states: Tensor) -> Tensor:
        scaled, knots = states / self._lengthscale, self._knots / self._lengthscale
        covariance: Tensor = self._variance * KERNEL.correlation(scaled, knots)
        return covariance

    def batch(self, states: Tensor) -> Tensor:
        """Values at many points at once, (batch, d) to (batch, k), differentiable."""
        values: Tensor = self._covariance(states) @ self._weights
        return values

    def __call__(self, *arguments: float | Array) -> Array:
        """Values at one point, as a black box is called."""
        state = np.concatenate([np.atleast_1d(a) for a in arguments])
        value = np.asarray(self.batch(torch.tensor(state).unsqueeze(0))[0].numpy())
        if self._noise:
            value = value + self._noise * self._generator.standard_normal(value.shape)
        return value


def lp_with_embedded_gp(seed: int, learn: bool = False, noise: float = 0.0) -> KnownProblem:
    """The paper's experiment: a linear program in x and h(x), h drawn from a Gaussian process.

    minimize c1'x + c2'h(x) subject to A1 x + A2 h(x) + b <= 0, x in [-2, 2]^2. Instances without
    a feasible point are drawn again.

    Args:
        seed: Which instance.
        learn: True to leave the kernel of h to be learned, as in practice; by default it is given,
            with the norms of the drawn functions as norm bounds.
        noise: Standard deviation of the noise that observations of h carry.
    """
    for generator in _generators(seed):
        x = Variable("x", 2, lower=-2, upper=2)
        draw = GaussianDraw(generator, 2, [(-2.0, 2.0)] * 2, noise)
        h = BlackBox(
            draw,
            name="h",
            outputs=2,
            noise=noise,
            kernel=None if learn else KERNEL,
            norm_bound=None if learn else draw.norms,
        )
        angles = generator.uniform(0, 2 * np.pi, 7)
        c1, c2, b, *rows = np.stack([np.cos(angles), np.sin(angles)], 1)
        y = h(x)
        problem = Problem(
            minimize=c1 @ x + c2 @ y,
            subject_to=[np.array(rows[:2]) @ x + np.array(rows[2:]) @ y + b <= 0],
        )
        solution = true_optimum(problem)
        if solution.feasible:
            return _known("LP with embedded GP", problem, solution, Structure.CONSTRAINED)
    raise AssertionError("unreachable: generators never end")


def additive(seed: int) -> KnownProblem:
    """phi1(x1, x2) + phi2(x2, x3) + phi3(x1, x3)."""
    generator = next(_generators(seed))
    x = Variable("x", 3, lower=-2, upper=2)
    phi1, phi2, phi3 = (_box(generator, f"phi{i}", [(-2.0, 2.0)] * 2) for i in (1, 2, 3))
    problem = Problem(minimize=phi1(x[0], x[1]) + phi2(x[1], x[2]) + phi3(x[0], x[2]))
    return _known("additive", problem, true_optimum(problem), Structure.ONE_LAYER)


def sum_of_squares(seed: int) -> KnownProblem:
    """phi1(x)^2 + phi2(x)^2."""
    generator = next(_generators(seed))
    x = Variable("x", 2, lower=-2, upper=2)
    phi1, phi2 = (_box(generator, f"phi{i}", [(-2.0, 2.0)] * 2) for i in (1, 2))
    problem = Problem(minimize=phi1(x) ** 2 + phi2(x) ** 2)
    return _known("sum of squares", problem, true_optimum(problem), Structure.ONE_LAYER)


def chain(seed: int) -> KnownProblem:
    """phi3(phi1(x)^2 + 3 phi1(x) - 3)."""
    generator = next(_generators(seed))
    x = Variable("x", 2, lower=-2, upper=2)
    phi1 = _box(generator, "phi1", [(-2.0, 2.0)] * 2)
    phi3 = _box(generator, "phi3", [(-5.5, 16.0)])
    y = phi1(x)
    problem = Problem(minimize=phi3(y**2 + 3 * y - 3))
    return _known("chain", problem, true_optimum(problem), Structure.NESTED)


def shifted_square(seed: int) -> KnownProblem:
    """(phi1(x1, x2) - x3)^2 + x3^2, the example of the paper's graph figure."""
    generator = next(_generators(seed))
    x = Variable("x", 3, lower=-2, upper=2)
    phi1 = _box(generator, "phi1", [(-2.0, 2.0)] * 2)
    problem = Problem(minimize=(phi1(x[0], x[1]) - x[2]) ** 2 + x[2] ** 2)
    return _known("shifted square", problem, true_optimum(problem), Structure.ONE_LAYER)


def true_optimum(problem: Problem) -> Solution:
    """The optimum of a problem whose black boxes are draws, by a search far finer than usual."""
    program = problem.program
    lower, upper = torch.tensor(program.lower), torch.tensor(program.upper)
    search = SearchProblem(lower, upper, partial(true_values, problem))
    no_starts = search.lower.new_zeros(0, program.size)
    return MultiStart(starts=32, samples=16384).solve(search, no_starts, 0)


def true_values(problem: Problem, x: Tensor) -> tuple[Tensor, Tensor]:
    """Objective (batch,), minimized, and constraints (batch, K) at x, (batch, n), without noise."""

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        draw = call.box.fn
        assert isinstance(draw, GaussianDraw)
        return draw.batch(states)

    return split_outputs(problem.program.run(x, resolve))


def _box(generator: np.random.Generator, name: str, ranges: list[tuple[float, float]]) -> BlackBox:
    draw = GaussianDraw(generator, 1, ranges)
    return BlackBox(draw, name=name, noise=0, kernel=KERNEL, norm_bound=draw.norms)


def _generators(seed: int) -> Iterator[np.random.Generator]:
    check_seed("", "seed", seed)
    return (np.random.default_rng([seed, attempt]) for attempt in count())


def _known(name: str, problem: Problem, solution: Solution, kind: Structure) -> KnownProblem:
    x = np.asarray(solution.point.numpy())
    truth = partial(_without_noise, problem)
    return KnownProblem(name, problem, solution.value, x, _SOURCE, kind, truth)


def _without_noise(problem: Problem, x: Array) -> tuple[float, float]:
    return measured(problem, *true_values(problem, torch.tensor(x).unsqueeze(0)))
