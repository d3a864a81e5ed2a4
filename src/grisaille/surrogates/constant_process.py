"""Belief about a black box without inputs: a constant that is observed with noise."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class ConstantProcess:
    """Mean and disturbance of a black box without inputs, from n answers.

    mean = average of the answers, deviation of the mean = s / sqrt(n), where s is the standard
    deviation of the disturbance.

    Attributes:
        mean: (k,).
        noise: s, (k,).
        answers: n; 1 if there is none, so that the deviation stays finite.
    """

    mean: Tensor
    noise: Tensor
    answers: int

    @staticmethod
    def of(outputs: Tensor, noise: Tensor | None) -> ConstantProcess:
        """The belief after answers (n, k); `noise` is s, (k,), None to take that of the sample."""
        n, k = outputs.shape
        mean = outputs.mean(0) if n else outputs.new_zeros(k)
        if noise is None:
            # One answer has no spread: its own size is a guess in the right units.
            guess = torch.where(mean != 0, mean.abs(), torch.ones_like(mean))
            noise = outputs.std(0) if n > 1 else guess
        return ConstantProcess(mean, noise, max(n, 1))

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of the mean, (batch, 0) to (batch, k) twice."""
        deviation = self.noise / self.answers**0.5
        return self.mean.expand(len(states), -1), deviation.expand(len(states), -1)

    def predict_jointly(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The same for q states each, which are all alike: (batch, q, k) and (batch, k, q, q)."""
        batch, q = states.shape[:2]
        variance = self.noise**2 / self.answers
        return self.mean.expand(batch, q, -1), variance[:, None, None].expand(batch, -1, q, q)

    def with_predicted(self, state: Tensor) -> ConstantProcess:
        """The same mean, one answer more."""
        del state
        return ConstantProcess(self.mean, self.noise, self.answers + 1)
