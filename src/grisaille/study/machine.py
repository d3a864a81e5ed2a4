"""The machine that decides: the processor and the versions that a decision's last bits hang on."""

from __future__ import annotations

import platform
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import numpy as np

from grisaille.array_types import Array
from grisaille.records import Suggestion

Machine = Mapping[str, str]
"""What decisions are recorded with: processor, kernels and versions, as people read them."""


@lru_cache(maxsize=1)
def this_machine() -> dict[str, str]:
    """The machine that this process runs on, without its name.

    The kernels are the code that OpenBLAS and PyTorch have chosen for the processor. They differ
    between processors, and between processes that were told which ones to take.
    """
    import botorch
    import scipy.linalg  # so that its libraries are loaded, and found below
    import threadpoolctl
    import torch

    import grisaille

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two OpenMPs in one process are not ours to judge
        libraries = threadpoolctl.threadpool_info()
    kernels = {
        f"{lib['internal_api']} {lib['architecture']}" for lib in libraries if _has_type(lib)
    }
    versions = {
        "grisaille": grisaille.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "torch": torch.__version__,
        "botorch": botorch.__version__,
    }
    return {
        "processor": f"{_processor()} ({platform.machine()})",
        "kernels": ", ".join([*sorted(kernels), f"ATen {torch.backends.cpu.get_cpu_capability()}"]),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def _has_type(library: Mapping[str, object]) -> bool:
    """True if a library of linear algebra says for which type of processor its code is."""
    return library.get("architecture") is not None


def _processor() -> str:
    """Return the name of the processor, such as "AMD EPYC 9575F"."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"^model name\s*:\s*(\S.*)$", lines, re.MULTILINE):
            return found[1].strip()
    return platform.processor() or "unknown processor"


def replay_remark(
    trial: int, decided: Suggestion, asked_x: Array, made_on: Machine | None, again: Suggestion
) -> str:
    """Say how a decision that was derived again differs from the recorded one, and why.

    Args:
        trial: Number of the trial.
        decided: What was recorded.
        asked_x: The design point that was asked for; the one that was tried may differ.
        made_on: The machine of the decision; None if it was not recorded.
        again: What was derived again.

    Returns:
        A sentence; empty if the decision is the same.
    """
    what = _what_differs(decided, asked_x, again)
    if not what:
        return ""
    text = f"replay({trial}): {what}"
    if made_on is None:
        return (
            f"{text}. The study does not say on which machine and with which versions it was "
            "decided, because an older version recorded it: other ones round and choose otherwise"
        )
    here = this_machine()
    other = [
        f"{name} {made_on.get(name, 'unknown')!r}, here {now!r}"
        for name, now in here.items()
        if made_on.get(name) != now
    ]
    if other:
        return (
            f"{text}. It was decided on another machine, or with other versions, which round "
            f"otherwise ({'; '.join(other)}): what is recorded stays valid"
        )
    return (
        f"{text}. It was decided on this type of processor ({here['processor']}) and with these "
        "versions, so this is another decision: code of the problem or of the strategy has "
        "changed since, or it draws random numbers that do not come from the situation"
    )


def _what_differs(decided: Suggestion, asked_x: Array, again: Suggestion) -> str:
    """Say what differs between two decisions; empty if they ask for the same evaluations."""
    if again.kind is not decided.kind:
        return f"a {again.kind} point is suggested, and a {decided.kind} one was recorded"
    if not np.array_equal(again.x, asked_x, equal_nan=True):
        off = float(np.max(np.abs(again.x - asked_x)))
        return f"the point suggested is up to {off:.2g} away from the recorded one"
    probes = [[(p.call, p.inputs.tolist()) for p in s.probes] for s in (decided, again)]
    if again.chain is not decided.chain or probes[0] != probes[1]:
        return "the point suggested is the recorded one, and other black boxes are to be evaluated"
    return ""
