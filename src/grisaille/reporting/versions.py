"""What numbers were made with, to be stored beside them."""

from __future__ import annotations

import platform
from importlib.metadata import version

_PACKAGES = ("grisaille", "torch", "botorch", "gpytorch", "numpy", "scipy")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    return {"python": platform.python_version(), **{p: version(p) for p in _PACKAGES}}
