"""The settings that identify a study, and the machine that its decisions hang on."""

from __future__ import annotations

import platform
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import ProtocolError, printable
from grisaille.language.black_box import input_kinds
from grisaille.language.box_inputs import input_names
from grisaille.language.diagram import draw
from grisaille.language.fingerprint import difference, fingerprint, learned_boxes
from grisaille.language.problem import Problem
from grisaille.language.units import unit_of_entry
from grisaille.language.values import ValueKind, design_kinds, kinds_from_plain, kinds_to_plain
from grisaille.records import Suggestion
from grisaille.strategies.strategy import Strategy
from grisaille.study.log.event_log import Data
from grisaille.study.trial_tables import design_names

T = TypeVar("T")

# --- identity -------------------------------------------------------------------------------------
# The settings that identify a study, and how they may differ from the stored ones.


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


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry of a design point, as the settings of a study have it.

    Attributes:
        name: Its name.
        lower: Its least value.
        upper: Its greatest value.
        step: The length of its steps; 0 if it has none.
        is_log: True if it is searched in the logarithm.
        kind: Its kind.
    """

    name: str
    lower: float
    upper: float
    step: float
    is_log: bool
    kind: ValueKind

    @property
    def plain(self) -> dict[str, Any]:
        """Itself as JSON can hold it, without what is usual."""
        return (
            {"name": self.name, "lower": self.lower, "upper": self.upper}
            | ({"step": self.step} if self.step else {})
            | ({"log": True} if self.is_log else {})
            | ({"whole": True} if self.kind.is_whole else {})
            | ({"labels": list(self.kind.labels)} if self.kind.labels else {})
        )

    def range_text(self, unit: str) -> str:
        """Return what it may be, in a few words.

        Args:
            unit: Follows the range.
        """
        members = self.kind.members(self.lower, self.upper)
        if members:
            return f"{members}{unit}"
        text = f"[{self.lower:g}, {self.upper:g}]{unit}"
        text += f" in steps of {self.step:g}" if self.step else ""
        return text + (" in the logarithm" if self.is_log else "")

    def fold(
        self,
        texts: Callable[[tuple[str, ...]], T],
        integers: Callable[[int, int], T],
        numbers: Callable[[StoredEntry], T],
    ) -> T:
        """Return what it is to another tool.

        Args:
            texts: Makes it from the texts to choose from.
            integers: Makes it from the least and the greatest of integers.
            numbers: Makes it from an entry of other numbers.
        """
        if self.kind.labels:
            return texts(self.kind.labels)
        if self.kind.is_whole:
            return integers(int(self.lower), int(self.upper))
        return numbers(self)


def stored_entries(settings: Data) -> list[StoredEntry]:
    """Return the entries of a design point, from the settings of a study."""
    names = settings.get("entries", [])
    ends, nothing = (settings.get("lower", []), settings.get("upper", [])), [0] * len(names)
    steps, flags = settings.get("steps", nothing), settings.get("logarithmic", nothing)
    columns = (names, *ends, steps, flags, kinds_from_plain(settings.get("kinds"), len(names)))
    return [StoredEntry(*column) for column in zip(*columns, strict=True)]


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


# --- machine --------------------------------------------------------------------------------------
# The machine that decides: the processor and the versions that a decision's last bits hang on.

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
