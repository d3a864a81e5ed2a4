"""The verdict on noise, concluded from the answers themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import counted

# Twice the log-likelihood ratio from which noise is believed. Most black boxes are deterministic,
# and a function that is rough on the scale of its data looks a little like noise.
_CONVINCING = 4.0
# Answers to the same inputs agree if they differ by less than this part of their spread.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class NoiseVerdict:
    """What was concluded about noise that was left out.

    Attributes:
        is_exact: Whether the answers are taken to have no noise.
        reason: The conclusion and why, in a few words.
    """

    is_exact: bool
    reason: str


def judge_noise(inputs: Array, outputs: Array, gains: Array) -> NoiseVerdict:
    """Conclude whether a black box is noisy.

    Inputs that were asked twice decide. Otherwise the likelihoods do: noise is believed if it makes
    the answers so much more likely that chance is no explanation.

    Args:
        inputs: (n, d).
        outputs: (n, k), standardized.
        gains: (k,), how much noise raises the largest log-likelihood of each output.
    """
    differences = _repeated(inputs, outputs)
    if len(differences):
        repeats = counted(len(differences), "repeated input")
        if (differences > _ROUNDING).any():
            return NoiseVerdict(False, f"noisy: {repeats} gave different answers")
        return NoiseVerdict(True, f"without noise: {repeats} gave the same answer again")
    ratio = 2 * float(gains.max(initial=0.0))
    needed = _CONVINCING + 2 * math.log(max(len(gains), 1))
    if ratio > needed:
        return NoiseVerdict(
            False,
            f"noisy: noise explains its answers much better (evidence {ratio:.1f}, above "
            f"{needed:.1f})",
        )
    return NoiseVerdict(
        True,
        f"without noise: nothing in its answers shows any (evidence {ratio:.1f}, noise would need "
        f"{needed:.1f})",
    )


def repeats_earlier(inputs: Array, start: int) -> bool:
    """Whether a row of the inputs (n, d), from the given one on, equals an earlier row."""
    return any(i >= start for i, _ in repetitions(inputs))


def _repeated(inputs: Array, outputs: Array) -> Array:
    """Largest difference of the outputs from those of an earlier, equal input, for each repeat."""
    pairs = repetitions(inputs)
    return np.array([np.abs(outputs[i] - outputs[first]).max(initial=0.0) for i, first in pairs])


def repetitions(inputs: Array) -> list[tuple[int, int]]:
    """Each row that equals an earlier one, with the first row that it equals."""
    first: dict[bytes, int] = {}
    earlier = [first.setdefault((row + 0.0).tobytes(), i) for i, row in enumerate(inputs)]
    return [(i, j) for i, j in enumerate(earlier) if i != j]
