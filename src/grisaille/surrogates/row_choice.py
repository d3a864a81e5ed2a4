"""Which of many observations a surrogate rests on.

All choices are functions of the observations alone, so that a decision made again is the same.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import Tensor

from grisaille.array_types import Array
from grisaille.surrogates.hyperparameters import Hyperparameters
from grisaille.surrogates.kernel import Kernel
from grisaille.surrogates.noise_evidence import repetitions
from grisaille.surrogates.radial_prediction import LEAST_VARIANCE

# Inputs are chosen while they have at least this part of their prior variance left.
_LEAST_LEFT = 1e-9
# Repeated inputs that are kept, because they say whether there is noise.
_REPEATS = 10


def typical_rows(inputs: Array, count: int) -> list[int]:
    """Positions of rows to learn hyper-parameters from, in order: all if there are few.

    Half of them fill space, each being the one farthest from those before it. The others are spread
    evenly over the order of the rows, so that near neighbours are among them. A few repeated inputs
    are kept in any case.

    Args:
        inputs: (n, d), in the unit cube.
        count: How many.
    """
    if len(inputs) <= count:
        return list(range(len(inputs)))
    chosen = {int(i) for i in np.linspace(0, len(inputs) - 1, count // 2)}
    chosen.update(i for pair in repetitions(inputs)[:_REPEATS] for i in pair)
    distance = np.full(len(inputs), np.inf)
    farthest = 0
    while len(chosen) < count:
        chosen.add(farthest)
        distance = np.minimum(distance, cdist(inputs, inputs[farthest : farthest + 1])[:, 0])
        farthest = int(distance.argmax())
        if distance[farthest] == 0:
            break
    return sorted(chosen)


def telling_rows(
    kernel: Kernel, hyperparameters: Hyperparameters, inputs: Tensor, near: Tensor, count: int
) -> list[int]:
    """Positions of rows that a posterior of exact answers rests on, in order: all if few.

    Half of them are the nearest to given places, where digits count. The others, some of which may
    be among the nearest, are those that the rows before them tell least about. A posterior given
    some rows is one of less knowledge: it is valid, and its bands are wider.

    Args:
        kernel: The kernel family.
        hyperparameters: Its hyper-parameters.
        inputs: (n, d).
        near: (m, d), the places.
        count: The largest number of them.
    """
    if len(inputs) <= count:
        return list(range(len(inputs)))
    scaled = hyperparameters.scale(kernel, inputs)
    chosen: set[int] = set()
    if len(near):
        places = hyperparameters.scale(kernel, near)
        distance = torch.cdist(scaled, places).amin((0, 2))
        chosen.update(distance.argsort(stable=True)[: count // 2].tolist())
    chosen.update(least_told_rows(kernel, scaled, count - len(chosen), 0.0))
    return sorted(chosen)


def least_told_rows(kernel: Kernel, scaled: Tensor, most: int, enough: float) -> list[int]:
    """Positions of inputs that leave at most a part `enough` of any other's prior variance.

    By pivoted Cholesky factorization, the input of largest remaining variance first.

    Args:
        kernel: The kernel family.
        scaled: (k, n, d), inputs in length-scales.
        most: The largest number of positions.
        enough: The part.
    """
    prior = kernel.diagonal(scaled).clone()
    left = prior.clone()
    most = min(most, scaled.shape[1])
    rows = scaled.new_zeros(len(scaled), most, scaled.shape[1])
    chosen: list[int] = []
    while len(chosen) < most:
        # One choice for all outputs: the input with the largest remaining share in any of them.
        share, pivot = (left / prior.clamp_min(LEAST_VARIANCE)).amax(0).max(0)
        if float(share) < max(enough, _LEAST_LEFT):
            break
        position, known = int(pivot), rows[:, : len(chosen)]
        row = kernel.correlation(scaled[:, position : position + 1], scaled).squeeze(1)
        row = row - (known[:, :, position].unsqueeze(1) @ known).squeeze(1)
        row = row / left[:, position : position + 1].clamp_min(LEAST_VARIANCE).sqrt()
        left = (left - row.square()).clamp_min(0)
        left[:, position] = 0
        rows[:, len(chosen)] = row
        chosen.append(position)
    return chosen
