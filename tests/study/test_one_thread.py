"""A decision takes one thread, and leaves the settings of the caller as they were."""

from __future__ import annotations

import threadpoolctl
import torch

from grisaille.study.one_thread import one_thread


def blas_threads() -> set[int]:
    return {
        int(i["num_threads"]) for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"
    }


def test_a_decision_takes_one_thread_and_gives_the_others_back():
    with threadpoolctl.threadpool_limits(2, user_api="blas"), torch.no_grad():
        torch.set_num_threads(2)
        try:
            before = blas_threads(), torch.get_num_threads()
            with one_thread():
                assert blas_threads() <= {1}
                assert torch.get_num_threads() == 1
                assert torch.is_grad_enabled()
            assert (blas_threads(), torch.get_num_threads()) == before
            assert not torch.is_grad_enabled()
        finally:
            torch.set_num_threads(1)
