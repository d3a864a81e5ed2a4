"""The numerical settings of a decision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import scipy.linalg  # noqa: F401  (it brings a BLAS that must be loaded before it is limited)
import torch
from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch and the BLAS use one thread in this context, with gradients.

    The matrices are small: threads that wait for one another cost more than they gain. On a busy
    machine a factorization of 300 rows takes 18 times as long with all threads. And sums do not
    depend on how many cores a machine has. Where the caller has switched gradients off, a search
    needs them all the same, and beliefs are cached for callers that have not.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with (
            _libraries().limit(limits=1, user_api="blas"),
            torch.inference_mode(False),
            torch.enable_grad(),
        ):
            yield
    finally:
        torch.set_num_threads(threads)


@cache
def _libraries() -> ThreadpoolController:
    """Return what sets the threads of the libraries that this process has loaded."""
    return ThreadpoolController()
