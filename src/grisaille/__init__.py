"""Grisaille: Bayesian optimization of expensive nested grey-box functions.

The public names are listed in `__init__.pyi`. They load on first use, so that `grisaille --help`
need not wait for PyTorch.
"""

from typing import Any

import lazy_loader

__version__ = "0.2.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    from grisaille.wrong_names import public

    globals()[name] = value = public(name, _load)
    return value
