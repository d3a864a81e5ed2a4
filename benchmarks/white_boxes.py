"""How long a suggestion takes with a white box of 50 inputs, by how it is written.

`python -m benchmarks.white_boxes` measures, in one process and in turns, one suggestion with the
same white box written as a plain function of one point, vectorized, with `gradient=`, with both,
and in PyTorch for one point and for many. Two white boxes: a loop of 50 time steps whose controls
are the inputs, and the solution of a linear system of 50 equations. Absolute seconds belong to the
machine; ratios to the plain function are what counts.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch

import grisaille as gs
from benchmarks.histories import sobol_history
from benchmarks.results_folder import write_result
from grisaille.belief.processes import likelihood
from grisaille.records import Situation

INPUTS = 50
OBSERVATIONS = 12
REPETITIONS = 3
_STEP = 0.1
_STIFFNESS = np.diag(np.linspace(2.0, 4.0, INPUTS)) - 0.5 * np.eye(INPUTS, k=1)


def tank(controls: Any, gain: Any) -> Any:
    """The last level of a tank that fills and leaks, for any kind of numbers."""
    level = 0 * gain
    for i in range(INPUTS):
        level = level + _STEP * (gain * controls[..., i] - 0.3 * level * level)
    return level


def tank_slopes(controls: Any, gain: Any) -> Any:
    """Its derivatives by the controls and the gain, backwards through the loop."""
    levels = [0 * gain]
    for i in range(INPUTS):
        levels.append(levels[-1] + _STEP * (gain * controls[..., i] - 0.3 * levels[-1] ** 2))
    weight, slopes, by_gain = 1 + 0 * gain, [], 0 * gain
    for i in reversed(range(INPUTS)):
        slopes.append(weight * _STEP * gain)
        by_gain = by_gain + weight * _STEP * controls[..., i]
        weight = weight * (1 - 0.6 * _STEP * levels[i])
    return np.stack([*slopes[::-1], by_gain], axis=-1)


def beam(loads: Any, stiffness: Any) -> Any:
    """The squared deflection of a beam under loads."""
    system = stiffness[..., None, None] * _STIFFNESS + np.eye(INPUTS)
    deflection = np.linalg.solve(system, loads[..., None])[..., 0]
    return (deflection**2).sum(-1)


def beam_of_tensors(loads: Any, stiffness: Any) -> Any:
    """The same in PyTorch."""
    matrix, eye = torch.tensor(_STIFFNESS), torch.eye(INPUTS, dtype=torch.float64)
    system = stiffness[..., None, None] * matrix + eye
    deflection = torch.linalg.solve(system, loads[..., None])[..., 0]
    return (deflection**2).sum(-1)


def beam_slopes(loads: Any, stiffness: Any) -> Any:
    """Its derivatives by the loads and the stiffness, by the adjoint system."""
    system = stiffness[..., None, None] * _STIFFNESS + np.eye(INPUTS)
    deflection = np.linalg.solve(system, loads[..., None])
    adjoint = np.linalg.solve(np.swapaxes(system, -1, -2), 2 * deflection)
    by_stiffness = -(adjoint * (_STIFFNESS @ deflection)).sum((-1, -2))
    return np.concatenate([adjoint[..., 0], by_stiffness[..., None]], axis=-1)


def one_at_a_time(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose second argument arrives as a float."""
    return lambda vector, number: fn(vector, np.float64(number))


def ways(
    fn: Callable[..., Any], slopes: Callable[..., Any], of_tensors: Callable[..., Any]
) -> dict[str, gs.WhiteBox]:
    """The same white box, written in each way."""
    single, single_slopes = one_at_a_time(fn), one_at_a_time(slopes)
    return {
        "plain": gs.white_box(single, name="w"),
        "vectorized": gs.white_box(fn, name="w", vectorized=True),
        "gradient": gs.white_box(single, name="w", gradient=single_slopes),
        "gradient, vectorized": gs.white_box(fn, name="w", gradient=slopes, vectorized=True),
        "torch": gs.white_box(of_tensors, name="w", torch=True),
        "torch, vectorized": gs.white_box(of_tensors, name="w", torch=True, vectorized=True),
    }


def problem(white_box: gs.WhiteBox) -> gs.Problem:
    """Choose 50 numbers that a white box reads, with the answer of a black box of two of them."""
    x = gs.Variable("x", INPUTS, lower=0, upper=1)
    response = gs.BlackBox(lambda x: 1 + 0.5 * x[0] * x[1], name="response", noise=0)
    reached = white_box(x, response(x[:2]))
    return gs.Problem(minimize=np.sum(x**2), subject_to=[reached >= 0.5])


def suggestion(white_box: gs.WhiteBox) -> Callable[[int], np.ndarray]:
    """One suggestion for its problem, as a function of the seed."""
    posed = problem(white_box)
    history = sobol_history(posed, OBSERVATIONS, 0)

    def suggest(seed: int) -> np.ndarray:
        likelihood.learn.cache_clear()
        situation = Situation(posed, history, seed, "separate", 10)
        return gs.Optimistic().suggest(situation).x

    return suggest


def main() -> None:
    """Measure both white boxes in every way, print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.white_boxes")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    repetitions = parser.parse_args().repetitions
    torch.set_num_threads(1)
    records = {}
    for name, box in (
        ("time steps", ways(tank, tank_slopes, tank)),
        ("linear system", ways(beam, beam_slopes, beam_of_tensors)),
    ):
        sides = {way: suggestion(white_box) for way, white_box in box.items()}
        seconds: dict[str, list[float]] = {way: [] for way in sides}
        points: dict[str, np.ndarray] = {}
        for seed in range(repetitions):
            for way, suggest in sides.items():
                gc.collect()
                started = time.perf_counter()
                points[way] = suggest(seed)
                seconds[way].append(time.perf_counter() - started)
        medians = {way: median(values) for way, values in seconds.items()}
        ratios = {way: value / medians["plain"] for way, value in medians.items()}
        far = {way: float(np.abs(p - points["plain"]).max()) for way, p in points.items()}
        records[name] = {
            "seconds": seconds,
            "median seconds": medians,
            "ratio to plain": ratios,
            "largest difference from the plain point": far,
        }
        print(name)
        for way, value in medians.items():
            print(f"  {way:<22} {value:8.2f} s   {ratios[way]:.3f}   {far[way]:.1e}", flush=True)
    write_result(
        "white_boxes",
        {"inputs": INPUTS, "repetitions": repetitions, "measurements": records},
    )


if __name__ == "__main__":
    main()
