"""Causal problems: which variables of a noisy system to set, to minimize E[Y | do].

All disturbances are independent and standard normal. A trial averages over `runs` runs of the
system; the publications use the expectation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import jv

from grisaille.array_types import Array
from grisaille.checks import check_count, check_seed
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.language.black_box import BlackBox
from grisaille.language.causal.do_operator import Do, do, exogenous, natural
from grisaille.language.causal.model import CausalModel, System, causal_problem
from grisaille.language.expression import Constraint, Expression
from grisaille.language.problem import Problem

Values = dict[str, Any]
Generator = np.random.Generator

_CBO = "Aglietti, Lu, Paleyes and González (2020), Causal Bayesian optimization"
_CONSTRAINED_CBO = "Aglietti, Malek, Ktena and Chiappa (2023), Constrained causal Bayesian "
_CONSTRAINED_CBO += "optimization"


def toy_graph(seed: int = 0, *, runs: int = 100, observations: int = 100) -> KnownProblem:
    """X = e, Z = exp(-X) + e, Y = cos Z - exp(-Z/20) + e; X or Z can be set.

    Args:
        seed: Where observational data and the disturbances of trials come from.
        runs: How many runs of the system a trial makes.
        observations: How many rows of observational data there are.
    """
    x, z, y = _toy_nodes()
    sets = [do(x, lower=-5, upper=5), do(z, lower=-5, upper=20)]
    rows = _observed(_toy_run, observations, seed)
    problem = causal_problem(
        Problem(minimize=y), sets, system=_toy_run, runs=runs, observations=rows, seed=seed
    )
    best = _causal(problem).design(1, np.array([-3.2003028]))
    return _known("ToyGraph", problem, -2.171806, best, _CBO, _toy_truth)


def constrained_toy_graph(
    seed: int = 0, *, runs: int = 100, observations: int = 100
) -> KnownProblem:
    """The same equations with E[X | do] <= 1 and E[Z | do] <= 1, and narrower ranges.

    The best is do(X = 0), where E[Z | do] = 1; the best do(Z) is -0.510969 at -1.

    Args:
        seed: As in `toy_graph`.
        runs: As in `toy_graph`.
        observations: As in `toy_graph`.
    """
    x, z, y = _toy_nodes()
    constraints: list[Constraint] = [x <= 1, z <= 1]
    sets = [do(x, lower=-3, upper=2), do(z, lower=-1, upper=1)]
    rows = _observed(_toy_run, observations, seed)
    model = Problem(minimize=y, subject_to=constraints)
    problem = causal_problem(model, sets, system=_toy_run, runs=runs, observations=rows, seed=seed)
    best = _causal(problem).design(0, np.zeros(1))
    return _known("Constrained ToyGraph", problem, -0.624709, best, _CONSTRAINED_CBO, _toy_truth)


def complete_graph(seed: int = 0, *, runs: int = 100, observations: int = 100) -> KnownProblem:
    """Seven variables and two hidden causes, U1 of A and Y, and U2 of B and Y.

    A = F^2 + U1 + e, B = U2 + e, C = exp(-B) + e, D = exp(-C)/10 + e, E = cos A + C/10 + e,
    Y = cos D - D/5 + sin E - E/4 + U1 + exp(-U2) + e; F, U1, U2 = e.

    Args:
        seed: As in `toy_graph`.
        runs: As in `toy_graph`.
        observations: As in `toy_graph`.
    """
    f = exogenous(name="F")
    a = _mechanism("A")(f)
    b = exogenous(name="B")
    c = _mechanism("C")(b)
    d = _mechanism("D")(c)
    e = _mechanism("E")(a, c)
    # A, F and what B would have been tell about the hidden causes.
    y = _mechanism("Y")(d, e, a, f, natural(b))
    set_b, set_d = do(b, lower=-5, upper=4), do(d, lower=-5, upper=5)
    set_e = do(e, lower=-6, upper=3)
    sets: list[Do | list[Do]] = [set_b, set_d, set_e]
    sets += [[set_b, set_d], [set_b, set_e], [set_d, set_e]]
    rows = _observed(_complete_run, observations, seed)
    problem = causal_problem(
        Problem(minimize=y), sets, system=_complete_run, runs=runs, observations=rows, seed=seed
    )
    names = [v.name for v in _causal(problem).intervened(3).variables]
    values = {"B": -5.0, "D": 3.342951}
    best = _causal(problem).design(3, np.array([values[name] for name in names]))
    return _known("CompleteGraph", problem, -3.483055, best, _CBO, _complete_truth)


# --- systems -----------------------------------------------------------------------------------
def _toy_run(values: Values, generator: Generator) -> dict[str, float]:
    e = generator.standard_normal(3)
    x = values.get("X", e[0])
    z = values.get("Z", np.exp(-x) + e[1])
    return {"X": x, "Z": z, "Y": np.cos(z) - np.exp(-z / 20) + e[2]}


def _complete_run(values: Values, generator: Generator) -> dict[str, float]:
    u1, u2, f, *e = generator.standard_normal(9)
    a = f**2 + u1 + e[0]
    b = values.get("B", u2 + e[1])
    c = np.exp(-b) + e[2]
    d = values.get("D", np.exp(-c) / 10 + e[3])
    third = values.get("E", np.cos(a) + c / 10 + e[4])
    y = np.cos(d) - d / 5 + np.sin(third) - third / 4 + u1 + np.exp(-u2) + e[5]
    return {"F": f, "A": a, "B": b, "C": c, "D": d, "E": third, "Y": y}


def _toy_nodes() -> tuple[Expression, Expression, Expression]:
    x = exogenous(name="X")
    z = _mechanism("Z")(x)
    return x, z, _mechanism("Y")(z)


def _mechanism(name: str) -> BlackBox:
    return BlackBox(None, name=name, process_noise=True)


def _observed(run: System, rows: int, seed: int) -> dict[str, Array] | None:
    """Runs without intervention."""
    check_count("", "observations", rows, 0)
    check_seed("", "seed", seed)
    generator = np.random.default_rng([seed, rows])
    table = [run({}, generator) for _ in range(rows)]
    return {name: np.array([row[name] for row in table]) for name in table[0]} if rows else None


# --- truths ------------------------------------------------------------------------------------
def _toy_truth(values: dict[str, float]) -> dict[str, float]:
    """E[. | do], from E cos N(m, 1) = exp(-1/2) cos m and E exp(a N(m, 1)) = exp(a m + a^2/2)."""
    x, z = values.get("X", 0.0), values.get("Z")
    if z is not None:
        return {"X": x, "Z": z, "Y": np.cos(z) - np.exp(-z / 20)}
    z = np.exp(-x)
    return {"X": x, "Z": z, "Y": np.exp(-0.5) * np.cos(z) - np.exp(-z / 20 + 1 / 800)}


def _complete_truth(values: dict[str, float]) -> dict[str, float]:
    """E[Y | do] term by term: C is normal given B, whose law is integrated out unless it is set."""
    b, d, e = (values.get(name) for name in "BDE")
    of_d = _expected_d_terms(b) if d is None else np.cos(d) - d / 5
    of_e = _expected_e_terms(b) if e is None else np.sin(e) - e / 4
    return {"Y": float(of_d + of_e + np.exp(0.5))}


def _normal(variance: float) -> tuple[Array, Array]:
    """Points and weights of a trapezoidal rule for a normal law, exact to rounding if smooth."""
    points = np.linspace(-9, 9, 1201)
    weights = np.exp(-(points**2) / 2)
    return points * np.sqrt(variance), weights / weights.sum()


def _means_of_c(b: float | None) -> tuple[Array, Array]:
    """Points and weights of exp(-B), for B set or B = N(0, 2)."""
    if b is not None:
        return np.array([np.exp(-b)]), np.ones(1)
    points, weights = _normal(2.0)
    return np.exp(-points), weights


@lru_cache(maxsize=64)
def _expected_d_terms(b: float | None) -> float:
    """E[cos D - D/5] for D = exp(-C)/10 + e."""
    means, weights = _means_of_c(b)
    errors, chances = _normal(1.0)
    undisturbed = np.exp(-(means[:, None] + errors)) / 10
    cosine = weights @ np.cos(undisturbed) @ chances * np.exp(-0.5)
    return float(cosine - weights @ np.exp(0.5 - means) / 50)


@lru_cache(maxsize=64)
def _expected_e_terms(b: float | None) -> float:
    """E[sin E - E/4] for E = cos A + C/10 + e, A = F^2 + N(0, 2).

    E exp(i k A) = exp(-k^2) (1 - 2 i k)^(-1/2), and exp(i cos A) is the sum over k of
    i^k J_k(1) exp(i k A) (Jacobi and Anger).
    """
    means, weights = _means_of_c(b)
    k = np.arange(-30, 31)
    waves = np.exp(-(k.astype(float) ** 2)) * (1 - 2j * k) ** -0.5
    of_a = np.sum(1j**k * jv(k, 1.0) * waves)
    of_c = np.exp(-1 / 200) * (weights @ np.exp(1j * means / 10))
    sine = (of_a * of_c).imag * np.exp(-0.5)
    mean = waves[k == 1][0].real + weights @ means / 10
    return float(sine - mean / 4)


def _known(
    name: str,
    problem: Problem,
    optimum: float,
    x: Array,
    source: str,
    expected: Callable[[dict[str, float]], dict[str, float]],
) -> KnownProblem:
    causal = _causal(problem)
    upper = {c.left: float(c.right.value) for c in causal.model.constraints}  # type: ignore[attr-defined]

    def truth(point: Array) -> tuple[float, float]:
        """E[Y | do], and by how much E[X | do] and E[Z | do] exceed their bounds at most."""
        means = expected(causal.describe(point))
        excess = [means[node.box.name] - bound for node, bound in upper.items()]  # type: ignore[attr-defined]
        return float(means["Y"]), max([0.0, *excess])

    return KnownProblem(name, problem, optimum, x, source, Structure.CAUSAL, truth)


def _causal(problem: Problem) -> CausalModel:
    assert problem.causal is not None
    return problem.causal
