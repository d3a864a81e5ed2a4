"""The versions of everything that a measured number depends on."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    packages = ("grisaille", "torch", "botorch", "gpytorch", "numpy", "scipy")
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}
