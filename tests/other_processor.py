"""Choose code for another type of processor: `python -m tests.other_processor` prints its name.

OpenBLAS and PyTorch add in another order on other processors, so last bits differ. Tests that pass
here and under `OPENBLAS_CORETYPE` with this name do not depend on them.
"""

from __future__ import annotations

import os
import subprocess
import sys

# From the newest to the one that every x86-64 processor runs; then 64-bit ARM.
CORE_TYPES = ("Haswell", "Nehalem", "Prescott", "ARMV8", "NEOVERSEN1")

# Linear algebra of every kind, so that a processor that lacks an instruction fails here.
TRY = """
import numpy as np, scipy.linalg, threadpoolctl
a = np.random.default_rng(0).random((64, 64)) + 64 * np.eye(64)
for b in (a, a.astype(np.float32)):
    scipy.linalg.cho_factor(b @ b.T), np.linalg.solve(b, b @ b[0]), scipy.linalg.solve(b, b)
print(*{lib["architecture"] for lib in threadpoolctl.threadpool_info() if lib.get("architecture")})
"""


def kernels(core_type: str | None = None) -> str:
    """Return the kernels that OpenBLAS takes if it is told `core_type`; empty if they crash."""
    told = {} if core_type is None else {"OPENBLAS_CORETYPE": core_type}
    done = subprocess.run(
        [sys.executable, "-c", TRY],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def other_core_type() -> str:
    """Return a core type that runs here with other kernels; empty if the BLAS has none."""
    own = kernels()
    return next((name for name in CORE_TYPES if kernels(name) not in {"", own}), "")


if __name__ == "__main__":
    print(other_core_type())
