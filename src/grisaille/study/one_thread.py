"""The PyTorch settings of a decision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread in this context, with gradients.

    The tensors are small: threads that wait for one another cost more than they gain, seconds per
    trial on a busy machine. Where the caller has switched gradients off, a search needs them all
    the same, and beliefs are cached for callers that have not.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_num_threads(threads)
