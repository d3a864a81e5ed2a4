"""A study as a generator of points, in the style of the gest-api standard."""

from __future__ import annotations

import contextlib
import difflib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import is_count, is_finite, is_number, real_numbers, tuple_of
from grisaille.errors import EvaluationError, ModelError, shortened
from grisaille.language.black_box import check_size
from grisaille.language.problem import Problem
from grisaille.language.values import ValueKind, readable
from grisaille.study.argument_checks import check_range
from grisaille.study.identity import StoredEntry, stored_entries
from grisaille.study.state import TrialEntry, TrialState
from grisaille.study.study import Study
from grisaille.study.writer import Chain, ChainAnswers

# --- answer names ---------------------------------------------------------------------------------
# Names for the answers of the black boxes along the chain.


def name_calls(problem: Problem, entries: list[str]) -> list[list[str]]:
    """Names for the outputs of each call, in the order of the chain.

    One output is called like its box, `h`; several `h[0]`, `h[1]`, or by their own names. A box
    that is called several times counts its calls in the order of the chain: `h#1`, `h#2`;
    `h#1[0]`; `yield#1`. An output's own name that is taken gets its box in front: `h.yield`.

    Args:
        problem: The problem.
        entries: Names of the design entries, which are taken.

    Raises:
        ModelError: Two things have the same name.
    """
    calls = [call.box for call in problem.program.calls]
    uses = Counter(box.name for box in calls)
    outputs = Counter(name for box in problem.boxes for name in box.output_names)
    plain = {box.name for box in problem.boxes if not box.output_names}
    taken = {*entries, *plain, *(name for name, count in outputs.items() if count > 1)}
    made: list[list[str]] = []
    for number, box in enumerate(calls):
        use = sum(earlier is box for earlier in calls[: number + 1])
        mark = f"#{use}" if uses[box.name] > 1 else ""
        if box.output_names:
            names = [n if n not in taken else f"{box.name}.{n}" for n in box.output_names]
            names = [f"{n}{mark}" for n in names]
        elif box.outputs == 1:
            names = [f"{box.name}{mark}"]
        else:
            names = [f"{box.name}{mark}[{i}]" for i in range(box.outputs)]
        made.append(names)
    counts = Counter(["_id", *entries, *(name for names in made for name in names)])
    for box, names in zip(calls, made, strict=True):
        for name in names:
            if counts[name] > 1:
                raise ModelError(
                    f"{name!r} would be an answer of black box {box.name!r} and something else, "
                    "such as a variable: give the black box or its output another name"
                )
    return made


# --- generator ------------------------------------------------------------------------------------

Point = dict[str, Any]

# How far an entry that comes back may be from what was suggested, relative to its range: a point
# that was stored with fewer digits is the same point.
_SAME = 1e-6

# How similar a key must be to a missing name to count as a slip, out of 1.
_NEAR = 0.8


class Generator:
    """Suggests whole points, and accepts what the black boxes answered along the chain.

    It fits wherever a generator of gest-api does, without needing that package.

    Args:
        study: The study, with `evaluation="chained"`: whoever evaluates whole points cannot
            evaluate a black box apart from the chain.
    """

    returns_id = True

    def __init__(self, study: Study) -> None:
        if not isinstance(study, Study):
            raise ModelError(f"Generator({shortened(study)}): pass a gs.Study")
        if study.evaluation != "chained":
            raise ModelError(
                "a generator suggests whole points, but the study may evaluate each black box "
                "apart from the chain: make it with gs.Study(..., evaluation='chained')"
            )
        self.study = study
        settings = study.state.settings
        self._entries: list[str] = list(settings["entries"])
        self._lower = np.array(settings["lower"], dtype=float)
        self._upper = np.array(settings["upper"], dtype=float)
        self._kinds = [entry.kind for entry in stored_entries(settings)]
        self._names = name_calls(study.problem, self._entries)
        self._chain = Chain(study.problem)
        self._handed_out: set[int] = set()
        _register(type(self))

    @property
    def observables(self) -> list[str]:
        """The keys that a result holds: the answers along the chain, in its order."""
        return [name for names in self._names for name in names]

    @property
    def vocs(self) -> Any:
        """Variables with their bounds, and observables, as a VOCS of gest-api.

        Choices and integers are discrete variables there.
        """
        try:
            from gest_api.vocs import VOCS
        except ImportError as error:
            raise ModelError("a VOCS needs the package gest-api: pip install gest-api") from error
        entries = stored_entries(self.study.state.settings)
        return VOCS(
            variables={
                entry.name: entry.fold(set, _whole_numbers, _ends)
                for entry in entries
                if entry.lower < entry.upper
            },
            # A VOCS has no variable whose bounds are equal.
            constants={e.name: float(e.lower) for e in entries if e.lower == e.upper},
            observables=self.observables,
        )

    def _validate_vocs(self, vocs: Any) -> None:
        """Raise ModelError unless a VOCS has the study's variables and observables."""
        inputs = {*vocs.variable_names, *vocs.constant_names}
        if inputs != set(self._entries) or not set(self.observables) <= set(vocs.output_names):
            raise ModelError(
                f"the VOCS has variables {sorted(inputs)} and outputs {vocs.output_names}, the "
                f"study has {sorted(self._entries)} and {self.observables}: use generator.vocs"
            )

    def suggest(self, num_points: int | None = None) -> list[Point]:
        """The next points to evaluate: design entries by name, and "_id".

        Points whose evaluation is to be tried again come first. New ones are chosen as if pending
        ones had come out as predicted, so they are spread out.

        Args:
            num_points: How many; one by default.

        Raises:
            ModelError: The problem is proved to be infeasible, so there are not as many points.
                Without `num_points` the list is empty then.
            EvaluationError: A known part has no value wherever a point is suggested.
        """
        if num_points is not None and not is_count(num_points, 0):
            raise ModelError(
                f"suggest({shortened(num_points)}): how many is a whole number, or None"
            )
        wanted = 1 if num_points is None else int(num_points)
        taken: list[TrialEntry] = []
        try:
            while len(taken) < wanted and (trial := self.study.ask_trial()) is not None:
                taken.append(trial)
            if num_points is not None and len(taken) < wanted:
                raise ModelError(
                    f"suggest({wanted}): the problem is proved to have no feasible point, so no "
                    "further one is worth evaluating: relax a constraint"
                )
        except BaseException:
            self.study.release_trials(t.number for t in taken)  # nobody will see these points
            raise
        self._handed_out.update(trial.number for trial in taken)
        return [self._point(trial) for trial in taken]

    def ingest(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Record answers: all of them, or none if there is an error.

        A result holds the `observables`. With the "_id" of a suggested point it completes that
        trial; where an observable is missing, None or not finite, its black box has failed.
        Without "_id" it holds the design entries instead, and adds observations of the black
        boxes as far as its answers go.

        Args:
            results: One dictionary per point; unknown keys are ignored.

        Raises:
            ModelError: An "_id" is unknown or has its results already, a design entry is missing
                or not what was suggested, or a value is not a number.
            AssumptionError: An answer is outside the range its black box was declared with.
        """
        given = () if isinstance(results, Mapping | str) else tuple_of("results", results)
        if isinstance(results, Mapping | str) or not all(isinstance(r, Mapping) for r in given):
            raise ModelError(
                f"ingest(results={shortened(results)}): pass a list of dictionaries, one per point"
            )
        named = [r for r in given if _has_id(r)]
        loose = [self._observations(r) for r in given if not _has_id(r)]

        if named:
            told = self._told(named)
            self.study.tell_trials(told)
            self._handed_out.difference_update(answers.trial for answers in told)
        for found in loose:
            for box, inputs, outputs in found:
                self.study.observe(box, [inputs], [outputs])

    def finalize(self) -> None:
        """Give back the points that have no results: they are suggested again."""
        self.study.release_trials(self._handed_out)
        self._handed_out.clear()

    def _point(self, trial: TrialEntry) -> Point:
        values = readable(self._kinds, trial.suggestion.x)
        return dict(zip(self._entries, values, strict=True), _id=trial.number)

    def _told(self, results: Sequence[Mapping[str, Any]]) -> list[ChainAnswers]:
        told: list[ChainAnswers] = []
        for result in results:
            ended = {answers.trial for answers in told if not answers.missing}
            trial = self._trial(result["_id"], ended)
            self._check_point(trial, result)
            answers, missing = self._answers(result, f"the result of point {trial.number}")
            told.append(ChainAnswers(trial.number, answers, missing))
        return told

    def _trial(self, given: Any, ended: set[int]) -> TrialEntry:
        """The pending trial of an "_id", unless it is among those that end now."""
        number = int(given) if is_finite(given) and float(given).is_integer() else None
        trial = None if number is None else self.study.state.trials.get(number)
        if trial is None:
            raise ModelError(
                f"the study has suggested no point with '_id' {shortened(given)}: leave '_id' "
                "out to add answers that were made elsewhere"
            )
        state = TrialState.COMPLETE if number in ended else trial.state
        if state is not TrialState.PENDING:
            raise ModelError(
                f"point {trial.number} has its results already (it is {state}): leave '_id' "
                "out to add further answers"
            )
        return trial

    def _check_point(self, trial: TrialEntry, result: Mapping[str, Any]) -> None:
        """Raise ModelError if a result belongs to another point than the suggested one."""
        for place, (name, kind) in enumerate(zip(self._entries, self._kinds, strict=True)):
            suggested = float(trial.suggestion.x[place])
            slack = _SAME * max(self._upper[place] - self._lower[place], abs(suggested))
            if name in result and not abs(_entry(result[name], name, kind) - suggested) <= slack:
                shown = kind.shown(suggested)
                raise ModelError(
                    f"point {trial.number} was suggested with {name} = {shown!r}, but its "
                    f"result has {shortened(result[name])}: leave '_id' out to add answers at "
                    "another point"
                )

    def _answers(
        self, result: Mapping[str, Any], where: str
    ) -> tuple[dict[int, Array], dict[int, str]]:
        """Outputs by call; and by call why there are none, for all other calls."""
        known = {"_id", *self._entries, *self.observables}
        others = [key for key in result if isinstance(key, str) and key not in known]
        calls = self.study.problem.program.calls
        answers: dict[int, Array] = {}
        missing: dict[int, str] = {}
        for number, names in enumerate(self._names):
            values = []
            for name in names:
                near = difflib.get_close_matches(name, others, 1, _NEAR)
                if name not in result and near:
                    raise ModelError(f"{where} has {near[0]!r} but no {name!r}: rename it")
                value = _number(result.get(name), name)
                if not math.isfinite(value):
                    got = (
                        f"is {shortened(result[name])} there" if name in result else "is not there"
                    )
                    missing.setdefault(number, f"{where} has no value: {name!r} {got}")
                values.append(value)
            if number in missing:
                continue
            outputs = np.array(values)
            try:
                check_size(outputs, f"{where}: black box {calls[number].box.name!r}")
                answers[number] = outputs
            except EvaluationError as error:
                missing[number] = str(error)
        return answers, missing

    def _observations(self, result: Mapping[str, Any]) -> list[tuple[str, Array, Array]]:
        """What a result without "_id" tells of each black box: name, inputs, outputs."""
        where = "a result without '_id'"
        entries = zip(self._entries, self._kinds, strict=True)
        x = np.array([_entry(result.get(name), name, kind) for name, kind in entries])
        absent = [n for n, v in zip(self._entries, x, strict=True) if not math.isfinite(v)]
        absent += [name for name in self.observables if name not in result]
        if absent:
            raise ModelError(
                f"{where} has no value of {absent[0]!r}: it needs {', '.join(self._entries)} and "
                f"the answers {', '.join(self.observables)}"
            )
        answers, _ = self._answers(result, where)
        reached: dict[int, Array] = {}
        found = []
        # A known part that has no value there ends the chain.
        with contextlib.suppress(EvaluationError):
            while ready := {
                call: inputs
                for call, inputs in self._chain.ready(x, reached).items()
                if call in answers
            }:
                for call, inputs in ready.items():
                    box = self.study.problem.program.calls[call].box
                    check_range(box, inputs, answers[call], self.study.state.history())
                    found.append((box.name, inputs, answers[call]))
                    reached[call] = answers[call]
        return found


def _whole_numbers(lower: int, upper: int) -> set[Any]:
    return set(range(lower, upper + 1))


def _ends(entry: StoredEntry) -> list[float]:
    return [float(entry.lower), float(entry.upper)]


def _has_id(result: Mapping[str, Any]) -> bool:
    """Whether a result belongs to a suggested point; in a table, others have an empty cell."""
    given = result.get("_id")
    return given is not None and not (is_number(given) and math.isnan(given))


def _entry(value: Any, name: str, kind: ValueKind) -> float:
    """A design entry: a number, or the position of a label; NaN for None."""
    if kind.has_digits or value is None:
        return _number(value, name)
    return kind.number(value, name)


def _number(value: Any, name: str) -> float:
    """A number, or the number in an array of size 1; NaN for None."""
    if value is None:
        return math.nan
    try:
        array = real_numbers(value)
    except (TypeError, ValueError, RuntimeError):  # the last is PyTorch's
        array = np.empty(0)
    if array.size != 1:
        raise ModelError(f"{name!r} is {shortened(value)} in a result: it must be one number")
    return float(array.item())


def _register(kind: type) -> None:
    """Register the class with gest-api, if that is installed."""
    try:
        from gest_api import Generator as Standard
    except ImportError:
        return
    Standard.register(kind)
