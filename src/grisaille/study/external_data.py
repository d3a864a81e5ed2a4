"""Answers made elsewhere, from arrays, lists and DataFrames."""

from __future__ import annotations

from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import ModelError
from grisaille.language.black_box import BlackBox


def observed_rows(box: BlackBox, inputs: Any, outputs: Any) -> tuple[Array, Array]:
    """Inputs (n, d) and outputs (n, k) of some answers of a black box.

    Args:
        box: The black box.
        inputs: An array, a list, a DataFrame; with the outputs as its last columns if
            `outputs` is None.
        outputs: Likewise.
    """
    if outputs is None:
        inputs, outputs = _split(box, inputs)
    x = _table(box, "inputs", inputs, box.inputs)
    y = _table(box, "outputs", outputs, box.outputs)
    if len(x) != len(y):
        raise ModelError(
            f"observe({box.name!r}): {len(x)} rows of inputs, but {len(y)} rows of outputs"
        )
    return x, y


def _split(box: BlackBox, frame: Any) -> tuple[Any, Any]:
    if not hasattr(frame, "iloc"):
        raise ModelError(
            f"observe({box.name!r}) got no outputs: pass them, or a DataFrame whose last "
            f"{box.outputs} columns are the outputs"
        )
    wanted = box.inputs + box.outputs
    names = list(box.output_names or [])
    if names and set(names) <= set(frame.columns):
        rest = [c for c in frame.columns if c not in names]
        if len(rest) != box.inputs:
            raise ModelError(
                f"observe({box.name!r}): besides {', '.join(names)} the DataFrame has "
                f"{len(rest)} columns ({', '.join(map(str, rest))}), but the black box takes "
                f"{box.inputs} numbers"
            )
        return frame[rest], frame[names]
    if frame.shape[1] != wanted:
        raise ModelError(
            f"observe({box.name!r}): the DataFrame has {frame.shape[1]} columns, but {wanted} are "
            f"needed: {box.inputs} inputs, then {box.outputs} outputs"
        )
    return frame.iloc[:, : box.inputs], frame.iloc[:, box.inputs :]


def _table(box: BlackBox, what: str, given: Any, width: int) -> Array:
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"observe({box.name!r}): {what} are not all numbers: {error}") from error
    if array.ndim <= 1 and (width == 1 or array.size == width):
        array = array.reshape(-1, width)
    if array.ndim != 2 or array.shape[1] != width:
        raise ModelError(
            f"observe({box.name!r}): {what} have shape {array.shape}, but black box {box.name!r} "
            f"has {width} {what}: pass one row per answer, {width} columns"
        )
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array).all(1)))
        raise ModelError(
            f"observe({box.name!r}): row {row} of the {what} is {array[row].tolist()}: every "
            "number must be finite; leave failed answers out"
        )
    return array
