"""The settings that identify a study, and how they may differ from the stored ones."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from grisaille.errors import ProtocolError, printable
from grisaille.language.box_inputs import input_kinds
from grisaille.language.declared_unit import unit_of_entry
from grisaille.language.diagram import draw
from grisaille.language.fingerprint import difference, fingerprint, learned_boxes
from grisaille.language.input_names import input_names
from grisaille.language.problem import Problem
from grisaille.language.value_kinds import design_kinds, kinds_to_plain
from grisaille.reporting.tables import design_names
from grisaille.storage.event_log import Data
from grisaille.strategies.strategy import Strategy


def settings_of(
    problem: Problem,
    strategy: Strategy,
    name: str,
    stored: Data,
    seed: int | None,
    evaluation: str | None,
) -> dict[str, Any]:
    """The settings that are stored with a study: enough to identify, list and export it.

    Seed and evaluation are the stored ones where they are not given.
    """
    labels = labels_to_store(problem)
    space = problem.program.space
    grids = {"steps": space.steps.tolist()} if space.has_steps else {}
    if space.logarithmic.any():
        grids["logarithmic"] = space.logarithmic.tolist()
    kinds = kinds_to_plain(design_kinds(problem.variables))
    if kinds is not None:
        grids["kinds"] = kinds
    return {
        "name": name,
        "problem": fingerprint(problem),
        "strategy": describe(strategy),
        "seed": int(stored.get("seed", 0) if seed is None else seed),
        "evaluation": evaluation or stored.get("evaluation", "separate"),
        "sense": problem.sense,
        "entries": design_names(problem),
        "lower": problem.program.lower.tolist(),
        "upper": problem.program.upper.tolist(),
        **grids,
        "constraints": problem.constraint_names,
        "boxes": {
            box.name: {
                "inputs": box.inputs,
                "outputs": list(box.output_names or []) or box.outputs,
                "cost": box.cost,
                **({} if (own := kinds_to_plain(input_kinds(box))) is None else {"kinds": own}),
            }
            for box in problem.boxes
        },
        **({"labels": labels} if labels or stored.get("labels") else {}),
        **shown_to_store(problem),
    }


def learned_of(settings: Data) -> list[str]:
    """Return the black boxes of a study whose bands are learned from answers, as recorded."""
    by_declaration = "Declared()" in settings.get("strategy", "")
    return [] if by_declaration else learned_boxes(settings.get("problem", []))


def labels_to_store(problem: Problem) -> dict[str, Any] | None:
    """How names, units and tolerances are stored, which do not identify a study; None without any.

    The newest ones count: a study that is opened with other names is still the same study.
    """
    entries = [(v.unit, entry) for v in problem.variables for entry in range(v.size)]
    labels = {
        "objective": problem.objective_name,
        "objective_unit": problem.objective_unit,
        "entry_units": [unit_of_entry(unit, entry) for unit, entry in entries],
        "constraint_units": problem.constraint_units,
        "formulas": [text for c in problem.constraints for text in c.replaced(name=None).labels],
        "tolerances": problem.tolerances.tolist(),
    }
    shown = [labels["objective"], labels["objective_unit"], *labels["entry_units"]]
    shown += [*labels["constraint_units"], *(c.name for c in problem.constraints)]
    return labels if any(shown) or any(labels["tolerances"]) else None


def shown_to_store(problem: Problem) -> dict[str, Any]:
    """What pages show of a problem without having it: its picture, and names of inputs."""
    drawn = draw(problem if problem.causal is None else problem.causal.model)
    return {
        "graph": [
            {"kind": n.kind, "label": printable(n.label), "reads": list(n.reads), "box": n.box}
            for n in drawn
        ],
        "input_names": {
            box.name: [printable(name) for name in input_names(problem, box)]
            for box in problem.boxes
        },
    }


def labels_of(settings: Data) -> Data:
    """What `labels_to_store` stored with a study; the same form without names and units if none."""
    if settings.get("labels"):
        return settings["labels"]  # type: ignore[no-any-return]
    constraints = settings.get("constraints", [])
    return {
        "objective": None,
        "objective_unit": None,
        "entry_units": [None] * len(settings.get("entries", [])),
        "constraint_units": [None] * len(constraints),
        "formulas": constraints,
        "tolerances": [0.0] * len(constraints),
    }


def check_same_study(stored: Data, settings: Data, allow_changes: bool) -> bool:
    """Whether problem, strategy, seed and evaluation are the stored ones.

    Raises:
        ProtocolError: They are not, and changes are not allowed; or a black box has another shape.
    """
    changes = []
    problems = difference(stored["problem"], settings["problem"])
    if problems:
        changes.append(problems)
    for what in ("strategy", "seed", "evaluation"):
        if stored[what] != settings[what]:
            changes.append(f"{what}: {stored[what]} -> {settings[what]}")
    if not changes:
        return True
    shown = "\n".join(f"  {line}" for change in changes for line in change.splitlines())
    name = settings["name"]
    for box, now in settings["boxes"].items():
        before = stored["boxes"].get(box)
        if before is not None and (
            _shape(before) != _shape(now) or _box_labels(before) != _box_labels(now)
        ):
            raise ProtocolError(
                f"study {name!r} has answers of a black box {box!r} with other inputs or outputs:\n"
                f"{shown}\nGive the black box or the study another name"
            )
    _check_positions(stored, settings, shown)
    if allow_changes:
        return False
    raise ProtocolError(
        f"study {name!r} was made with something else than what you pass now:\n{shown}\n"
        "Pass what it was made with, give the study another name, or go on all the same with "
        "allow_changes=True: its answers are kept"
    )


def _check_positions(stored: Data, settings: Data, shown: str) -> None:
    """Raise ProtocolError if recorded positions of labels would mean other labels now."""
    before, now = _labels_by_entry(stored), _labels_by_entry(settings)
    for entry, labels in before.items():
        if entry in now and now[entry][: len(labels)] != labels:
            raise ProtocolError(
                f"study {settings['name']!r} has trials with other labels of {entry!r}:\n{shown}\n"
                "Keep its labels in their order and add new ones at the end, or give the study "
                "another name"
            )


def _labels_by_entry(settings: Data) -> dict[str, list[str]]:
    kinds = settings.get("kinds") or []
    pairs = zip(settings["entries"], kinds, strict=False)
    return {entry: kind for entry, kind in pairs if isinstance(kind, list)}


def _box_labels(box: Data) -> list[Any]:
    """The labels of its inputs in their order: its answers are stored by them."""
    return [kind if isinstance(kind, list) else None for kind in box.get("kinds") or []]


def is_changed(opened_with: Data, now: Data, setting: str) -> bool:
    """Whether another process has changed a setting since this one opened the study."""
    return bool(opened_with) and opened_with[setting] != now[setting]


def refuse_changed(opened_with: Data, now: Data, setting: str) -> None:
    """Raise ProtocolError if another process has changed the problem or the strategy."""
    if is_changed(opened_with, now, setting):
        which = f", {now[setting]}" if setting == "strategy" else ""
        raise ProtocolError(
            f"study {now['name']!r} was changed by another process: open it again with the changed "
            f"{setting}{which}"
        )


def has_box(settings: Data, name: str, inputs: int, outputs: int) -> bool:
    """Whether the problem of a study has a black box with so many inputs and outputs."""
    box = settings["boxes"].get(name)
    return box is not None and _shape(box) == (inputs, outputs)


def _shape(box: Data) -> tuple[int, int]:
    outputs = box["outputs"]
    return box["inputs"], outputs if isinstance(outputs, int) else len(outputs)


def describe(strategy: object) -> str:
    """A strategy by its options that are not the default, so that new options change nothing.

    An option that was renamed keeps its former name here, in the metadata "stored_as" of its field:
    a stored study must be found equal to the same study of today.
    """
    if isinstance(strategy, np.generic):
        strategy = strategy.item()  # equal numbers describe equal strategies
    if type(strategy).__repr__ is Strategy.__repr__:  # a user's own plain class
        options = getattr(strategy, "__dict__", {}).items()
        given = [f"{name}={describe(value)}" for name, value in options if name[0] != "_"]
        return f"{type(strategy).__name__}({', '.join(given)})"
    if not is_dataclass(strategy) or isinstance(strategy, type):
        # Memory addresses differ from run to run.
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(strategy))
    given = [
        f"{f.metadata.get('stored_as', f.name)}={describe(getattr(strategy, f.name))}"
        for f in fields(strategy)
        if not _is_default(getattr(strategy, f.name), f.default)
    ]
    return f"{type(strategy).__name__}({', '.join(given)})"


def _is_default(value: Any, default: Any) -> bool:
    """Whether an option has its default; comparing arrays gives arrays."""
    return default is not MISSING and bool(np.all(value == default))
