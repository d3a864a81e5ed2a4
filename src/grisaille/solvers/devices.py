"""Where tensors are made while a proof is made: the processor, or another device of PyTorch."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from grisaille.errors import ModelError, shortened


def check_device(who: str, name: str, value: object) -> None:
    """Raise ModelError unless a value names a kind of PyTorch device, or is None."""
    if value is None:
        return
    try:
        if isinstance(value, str):
            torch.device(value)
            return
    except RuntimeError:
        pass
    raise ModelError(
        f"{who}({name}={shortened(value)}): pass the name of a PyTorch device such as 'cuda', or "
        "None for the processor"
    )


def usable_device(name: str | None) -> AbstractContextManager[Any]:
    """A context in which new tensors are made on a device; None changes nothing.

    Raises:
        ModelError: This machine has no such device, or it has no numbers of 64 bits.
    """
    if name is None:
        return nullcontext()
    try:
        torch.zeros(1, dtype=torch.float64, device=name)
    # What PyTorch raises depends on the device that is missing.
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise ModelError(
            f"device={name!r} cannot be used here: {str(error).splitlines()[0]}; pass device=None "
            "for the processor"
        ) from None
    return torch.device(name)
