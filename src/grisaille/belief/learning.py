"""Learning of black boxes: a surrogate for each one, from the observations.

Hyper-parameters are learned without a warm start, at counts that grow by 5 % (`milestone`), so that
a resumed study learns what an unbroken one would.

Inputs of black boxes that count by their logarithm: those that are variables over decades.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.kernels import (
    Hyperparameters,
    Kernel,
    Linear,
    Matern,
    SquaredExponential,
    check_kernel,
    compiled,
    is_plain,
    logarithms,
    own_kernels,
)
from grisaille.belief.processes.likelihood import Data, given, learn, prior_variance
from grisaille.belief.processes.noise import repeats_earlier
from grisaille.belief.processes.posterior import (
    CondensedPosterior,
    ConstantProcess,
    ModelSurrogate,
    NoFactorError,
    Posterior,
    telling_rows,
    typical_rows,
)
from grisaille.belief.processes.shared import SharedPosterior, learn_together
from grisaille.checks import has_method
from grisaille.errors import ModelError, counted, shortened
from grisaille.language.black_box import LARGEST_ANSWER, BlackBox, check_size
from grisaille.language.expression import Algebra, Call, Expression, Operation, entries
from grisaille.language.program import Program
from grisaille.records import History
from grisaille.reductions.linear_equalities import Bounded


def logarithmic_inputs(program: Program, box: BlackBox) -> Flags:
    """Return which inputs of a black box are entries with `log=True` in every call, (d,)."""
    logarithmic = program.space.logarithmic
    if not logarithmic.any():
        return np.zeros(box.inputs, dtype=bool)
    calls = (
        [e for a in c.arguments for e in program.design_entries(a)]
        for c in program.calls
        if c.box is box
    )
    flags = [[e is not None and bool(logarithmic[e]) for e in inputs] for inputs in calls]
    return np.asarray(np.logical_and.reduce(np.array(flags, dtype=bool)))


def learned_in_logarithm(program: Program, box: BlackBox) -> Flags:
    """Which inputs a black box is learned in the logarithm of, (d,).

    A kernel with hyper-parameters, a linear or composite kernel, a Lipschitz constant, and a kernel
    or model of the user's own are about inputs in the user's units, and are used as they are. A
    direction is the same for logarithms.
    """
    own_units = not box.is_learned or box.model is not None or box.lipschitz is not None
    radial = box.kernel is None or isinstance(box.kernel, SquaredExponential | Matern)
    flags = logarithmic_inputs(program, box)
    return np.zeros_like(flags) if own_units or not radial else flags


def in_logarithms(values: Array, flags: Flags) -> Array:
    """Inputs (..., d) with the logarithm of those that are flagged."""
    if not flags.any():
        return values
    return np.where(flags, np.log(np.maximum(np.where(flags, values, 1.0), 1e-300)), values)


class InputMeasure:
    """The coordinates that distances between inputs of a black box are measured in.

    Args:
        program: The problem's.
        box: The black box.
    """

    def __init__(self, program: Program, box: BlackBox) -> None:
        self._flags = logarithmic_inputs(program, box)

    def of(self, inputs: Tensor) -> Tensor:
        """Return inputs (..., d) in these coordinates: logarithms, or their own units."""
        return logarithms(inputs, torch.tensor(self._flags)) if self._flags.any() else inputs

    def widths(self, lower: Array, upper: Array) -> Array:
        """Return the widths (d,) of ranges between inputs."""
        return in_logarithms(upper, self._flags) - in_logarithms(lower, self._flags)


Beliefs = dict[str, Belief]
"""A belief about each black box, by name."""

DEFAULT_KERNEL = Matern(2.5)
# Inputs that differ by less count as one: what is a band away from them has no square.
_LEAST_WIDTH = 1e-140

# Rows of a disturbed mechanism beyond which its surrogate is condensed, and how many of them its
# hyper-parameters are learned from.
_MANY_RUNS = 250
_LEARNED_FROM = 200
# The same for other black boxes: rows beyond which their surrogate rests on the most telling ones,
# or on that many inputs if they are noisy; and how many of them hyper-parameters are learned from.
_MANY_ROWS = 600
_MOST_CHOSEN = 400
_TYPICAL_ROWS = 300


def given_kernel(box: BlackBox) -> Kernel:
    """The kernel of a black box that was given one."""
    assert box.kernel is not None
    kernel: Kernel = box.kernel
    return kernel


def value_bound(box: BlackBox, states: Tensor) -> Tensor:
    """How far from 0 the values of a black box can be by its norm bound.

    |f(s)| <= B sqrt(k(s, s)): B in the paper, where k(s, s) <= 1 (Assumption regular_kernel).

    Args:
        box: A black box with a norm bound, and so with a given kernel.
        states: (batch, d).

    Returns:
        (batch, k).
    """
    assert box.norm_bound is not None
    # The floor keeps the root differentiable at the origin of a linear kernel.
    deviation = prior_variance(given_kernel(box), states).clamp_min(1e-300).sqrt()
    return torch.tensor(box.norm_bound) * deviation.unsqueeze(-1)


def disturbance(box: BlackBox, belief: Belief) -> Tensor:
    """Standard deviation of a black box's process noise, (k,): as declared, else as learned."""
    if box.noise is not None:
        return torch.tensor(box.noise)
    assert belief.noise is not None
    return belief.noise


def is_believed_exact(box: BlackBox, belief: Belief) -> bool:
    """Whether the answers of a black box have no noise: as declared, else as concluded."""
    return belief.is_exact if box.noise is None else box.is_exact


def noise_of(box: BlackBox, belief: Belief) -> tuple[float, ...]:
    """Standard deviation of the noise of each output, as it is believed."""
    untold = box.noise is None and belief.noise is None
    if untold or is_believed_exact(box, belief):
        return (0.0,) * box.outputs
    return tuple(disturbance(box, belief).tolist())


def believe(
    program: Program,
    history: History,
    regularization: float | None = None,
    at_once: int = 1,
    only: Collection[str] | None = None,
) -> Beliefs:
    """Learn every black box of a program from the history.

    Args:
        program: Whose boxes.
        history: What they answered.
        regularization: lambda, used in place of the noise of boxes whose kernel is given.
        at_once: How many evaluations are made at once.
        only: Names of the boxes to learn; all by default.
    """
    return {
        box.name: _surrogate(program, box, history, regularization, at_once)
        for box in program.boxes
        if only is None or box.name in only
    }


def milestone(observations: int, at_once: int = 1) -> int:
    """The number of observations that hyper-parameters are learned from.

    It grows with the data in steps of 5 %: early every answer counts, late it hardly does. When
    several evaluations are made at once, it grows by about as many, so that learning takes no more
    time than in a study that waits for all of them. It depends on counts alone, so that a resumed
    study learns what an unbroken one would.
    """
    most = 1 << (at_once.bit_length() - 1)  # the same while their number varies a little
    reached = min(observations, 1)
    while True:
        step = max(1, min(most, reached // 2))
        following = max(reached + step, math.ceil(1.05 * reached))
        if following > observations:
            return reached
        reached = following


def _surrogate(
    program: Program,
    box: BlackBox,
    history: History,
    regularization: float | None,
    at_once: int,
) -> Belief:
    inputs, outputs = history.data(box.name, box.inputs, box.outputs)
    large = np.flatnonzero((np.abs(outputs) > LARGEST_ANSWER).any(1))
    if len(large):  # recorded by a version that took any number
        where = f"black box {box.name!r} at {box.describe(inputs[large[0]])}"
        check_size(outputs[large[0]], where)
    if not box.inputs:
        declared = None if box.noise is None else torch.tensor(box.noise)
        return ConstantProcess.of(torch.tensor(outputs), declared)
    if box.model is not None:
        return _own_model(box, inputs, outputs)
    kernel: Kernel = DEFAULT_KERNEL if box.kernel is None else box.kernel
    check_kernel(kernel, box.name, box.inputs, box.input_hint)
    kernel = compiled(kernel, box.inputs)
    if box.process_noise and len(inputs) > _MANY_RUNS:
        return _condensed(program, box, kernel, inputs, outputs)
    first = milestone(len(inputs), at_once)
    if box.noise is None and repeats_earlier(inputs, first):
        first = len(inputs)  # an input that was asked again says at once whether there is noise
    if box.is_learned:
        hyperparameters = _learned(program, box, kernel, inputs[:first], outputs[:first])
    else:
        noise = box.noise if regularization is None else np.full(box.outputs, regularization**0.5)
        hyperparameters = given(kernel, noise, box.inputs, box.outputs)
    return _posterior(box, history, kernel, hyperparameters, inputs, outputs)


def _posterior(
    box: BlackBox,
    history: History,
    kernel: Kernel,
    hyperparameters: Hyperparameters,
    inputs: Array,
    outputs: Array,
) -> Belief:
    """The posterior of all rows; of many, that of the most telling ones, or a condensed one."""
    x, y = torch.tensor(inputs), torch.tensor(outputs)
    if box.shared_kernel:
        return SharedPosterior(kernel, hyperparameters, x, y)
    if len(x) > _MANY_ROWS:
        if (hyperparameters.noise > 0).any():  # every noisy row tells something
            return CondensedPosterior(kernel, hyperparameters, x, y, _MOST_CHOSEN)
        near = torch.tensor(_inputs_at_best(box, history))
        some = telling_rows(kernel, hyperparameters, x, near, _MANY_ROWS)
        x, y = x[some], y[some]
    try:
        return Posterior(kernel, hyperparameters, x, y)
    except NoFactorError:  # rounding: one by one, what is left is at least lambda
        posterior = Posterior(kernel, hyperparameters, x[:1], y[:1])
        for i in range(1, len(x)):
            posterior = posterior.extended(x[i], y[i])
        return posterior


def _inputs_at_best(box: BlackBox, history: History) -> Array:
    """Inputs of a black box in the best trial, (m, d): no row if there is no trial."""
    if not history.trials:
        return np.zeros((0, box.inputs))
    best = min(history.trials, key=lambda trial: (trial.missed.max(initial=0.0), trial.objective))
    found = [o.inputs for o in best.observations if o.box == box.name]
    return np.array(found, dtype=float).reshape(-1, box.inputs)


def _learned(
    program: Program,
    box: BlackBox,
    kernel: Kernel,
    inputs: Array,
    outputs: Array,
    ends: tuple[Array, Array] | None = None,
) -> Hyperparameters:
    """What is learned from answers, with inputs scaled by `ends`; by default their range."""
    lower, upper = input_range(program, box, inputs) if ends is None else ends
    flags = learned_in_logarithm(program, box)
    inputs, lower, upper = (in_logarithms(v, flags) for v in (inputs, lower, upper))
    some = typical_rows((inputs - lower) / (upper - lower), _TYPICAL_ROWS)
    inputs, outputs = inputs[some], outputs[some]
    data = Data(kernel, box.noise, inputs, outputs, lower, upper, box.process_noise)
    found = learn_together(data) if box.shared_kernel else learn(data)
    return replace(found, logarithmic=torch.tensor(flags)) if flags.any() else found


def contradiction(box: BlackBox, belief: Belief) -> str:
    """Why the answers of a black box contradict its kernel, in a sentence; empty if they do not."""
    missed = belief.contradiction if box.is_exact else 0.0
    if not missed:
        return ""
    kernel = type(belief.kernel).__name__ if is_plain(belief.kernel) else shortened(box.kernel)
    other = "kernel=gs.Matern() or " if isinstance(belief.kernel, Linear) else ""
    return (
        f"the answers of black box {box.name!r} contradict its {kernel} kernel with noise 0, which "
        f"misses them by up to {missed:.3g}: use {other}noise=None"
    )


def _condensed(
    program: Program, box: BlackBox, kernel: Kernel, inputs: Array, outputs: Array
) -> CondensedPosterior:
    if box.is_learned:
        some = np.linspace(0, len(inputs) - 1, _LEARNED_FROM).astype(int)
        ends = input_range(program, box, inputs)
        hyperparameters = _learned(program, box, kernel, inputs[some], outputs[some], ends)
    else:
        hyperparameters = given(kernel, box.noise, box.inputs, box.outputs)
    return CondensedPosterior(kernel, hyperparameters, torch.tensor(inputs), torch.tensor(outputs))


def _own_model(box: BlackBox, inputs: Array, outputs: Array) -> ModelSurrogate:
    assert box.model is not None
    try:
        model = box.model(torch.tensor(inputs), torch.tensor(outputs))
    except Exception as error:
        many = counted(len(inputs), "observation")
        error.add_note(f"This is model= of black box {box.name!r}, called with {many}.")
        raise
    if not has_method(model, "posterior"):
        raise ModelError(
            f"model= of black box {box.name!r} returned {shortened(model)}: it must return a "
            "fitted BoTorch model, something with posterior(X)"
        )
    if not len(inputs):
        return ModelSurrogate(model, box.name, box.outputs)
    return ModelSurrogate.tried(model, box.name, box.outputs, torch.tensor(inputs[0]))


def input_range(program: Program, box: BlackBox, seen: Array) -> tuple[Array, Array]:
    """The box that inputs are scaled by: declared, else known from the model, else seen."""
    lower, upper = input_domain(program, box)
    unknown = np.isnan(lower) | np.isnan(upper)
    lower = np.where(unknown, seen.min(0), lower)
    upper = np.where(unknown, seen.max(0), upper)
    # Beside a large number, 1 is lost to rounding.
    wide = np.where(lower + 1.0 > lower, lower + 1.0, lower + np.abs(lower))
    return lower, np.where(upper - lower > _LEAST_WIDTH, upper, wide)


def input_domain(program: Program, box: BlackBox) -> tuple[Array, Array]:
    """Range of each input of a black box as far as declarations tell; NaN where they do not."""
    calls = [c.arguments for c in program.calls if c.box is box]
    ends = [[np.concatenate(e) for e in zip(*map(known_range, c), strict=True)] for c in calls]
    lower = np.min([low for low, _ in ends], axis=0)
    upper = np.max([high for _, high in ends], axis=0)
    labels = label_inputs(box)
    lower, upper = np.where(labels, 0.0, lower), np.where(labels, 1.0, upper)
    if box.input_lower is not None:
        usable = np.isfinite(box.input_lower)
        # No logarithm is below that of the variable, whatever else the black box accepts.
        usable = usable & ~(logarithmic_inputs(program, box) & (box.input_lower <= 0))
        lower = np.where(usable, box.input_lower, lower)
    if box.input_upper is not None:
        upper = np.where(np.isfinite(box.input_upper), box.input_upper, upper)
    return lower, upper


def label_inputs(box: BlackBox) -> Flags:
    """Which flat inputs of a black box belong to a choice of labels, (d,)."""
    assert box.argument_shapes is not None
    sizes = [int(np.prod(shape)) for shape in box.argument_shapes]
    flags = [
        np.full(size, bool(labels)) for size, labels in zip(sizes, box.argument_labels, strict=True)
    ]
    return np.concatenate([np.zeros(0, dtype=bool), *flags])


def known_range(expression: Expression) -> tuple[Array, Array]:
    """Range of each entry as far as declarations tell, flat; NaN where they do not."""
    found = entries(expression)
    ranges = {source: source._become(_RANGE, ()) for source in dict.fromkeys(s for s, _ in found)}
    lower, upper = (np.array([ranges[s][end][p] for s, p in found], float) for end in (0, 1))
    return lower, upper


def _range_of_call(call: Call, _arguments: object) -> tuple[Array, Array]:
    box = call.box
    bound = np.inf if box.norm_bound is None else _largest_value(call)
    lower = np.maximum(-np.inf if box.lower is None else box.lower, -bound)
    upper = np.minimum(np.inf if box.upper is None else box.upper, bound)
    unknown = np.full(call.size, np.nan)
    return (
        np.where(np.isfinite(lower), lower, unknown),
        np.where(np.isfinite(upper), upper, unknown),
    )


def _range_of_operation(operation: Operation, _arguments: object) -> tuple[Array, Array]:
    if isinstance(operation, Bounded):
        return np.array([operation.lower]), np.array([operation.upper])
    unknown = np.full(operation.size, np.nan)
    return unknown, unknown


_RANGE: Algebra[object, tuple[Array, Array]] = Algebra(
    variable=lambda variable: (variable.lower.ravel(), variable.upper.ravel()),
    constant=lambda constant: (constant.value.ravel(), constant.value.ravel()),
    operation=_range_of_operation,
    call=_range_of_call,
)


def _largest_value(call: Call) -> Array:
    """The largest value that the norm bound of a black box allows for its known inputs, (k,)."""
    if own_kernels(call.box.kernel):  # where their k(s, s) is largest is not known
        return np.full(call.box.outputs, np.inf)
    ends = zip(*map(known_range, call.arguments), strict=True)
    lower, upper = (torch.tensor(np.concatenate(end)) for end in ends)
    farthest = torch.maximum(accepted(call.box, lower).abs(), accepted(call.box, upper).abs())
    # An input without a known range has no farthest value, but k(s, s) may not depend on it.
    return value_bound(call.box, farthest.unsqueeze(0))[0].numpy()


def accepted(box: BlackBox, states: Tensor) -> Tensor:
    """States moved into the input range that a black box accepts."""
    return _moved_into(states, box.input_lower, box.input_upper)


def returned(box: BlackBox, outputs: Tensor) -> Tensor:
    """Outputs moved into the range that a black box was declared with."""
    return _moved_into(outputs, box.lower, box.upper)


def _moved_into(values: Tensor, lower: Array | None, upper: Array | None) -> Tensor:
    if lower is not None:
        values = torch.maximum(values, torch.tensor(lower))
    if upper is not None:
        values = torch.minimum(values, torch.tensor(upper))
    return values
