"""Events as plain data: a class for each kind, with its fields, its checks and its words.

The effect of an event on a study is in `state.py`. The types of the fields are checked wherever an
event comes from, in one call that enters no code of this package.

Floating-point numbers survive JSON to the last bit. JSON has no numbers that are not finite:
these become the words "nan", "inf" and "-inf".
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from grisaille.array_types import Array
from grisaille.belief.incumbent import Incumbent
from grisaille.errors import counted, cut
from grisaille.language.values import Value
from grisaille.records import Bound, History, Observation, Probe, Suggestion, TrialKind
from grisaille.study.log.event_log import DamagedError, Data, Event, NewerError

if TYPE_CHECKING:
    from grisaille.study.state import QueryEntry, StudyState, TrialEntry


# --- numbers --------------------------------------------------------------------------------------
# Numbers as plain data, and back without loss.


def to_plain(numbers: Iterable[float]) -> list[Any]:
    """Numbers as JSON can hold them."""
    return [v if math.isfinite(v) else str(v) for v in map(float, numbers)]


def values_to_plain(values: Iterable[Value]) -> list[Value]:
    """What people read, as JSON can hold it: labels and whole numbers stay as they are."""
    return [v if isinstance(v, str | int) else to_plain([v])[0] for v in values]


def number_to_plain(value: float | None) -> Any:
    """One number as JSON can hold it."""
    return None if value is None else to_plain([value])[0]


def from_plain(plain: Iterable[float | str]) -> Array:
    """The numbers of `to_plain`."""
    return np.array(list(map(float, plain)))


def number_from_plain(plain: float | str | None) -> float | None:
    """The number of `number_to_plain`."""
    return float(plain) if isinstance(plain, str) else plain


# --- fields ---------------------------------------------------------------------------------------
# The types of the fields. Integers are below 2**63, so that every database and language has them.

_MOST = 2**63 - 1
_LARGEST = float(np.finfo(float).max)
# Halves of characters can be neither written nor printed.
Text = Annotated[str, Meta(pattern=r"^[^\ud800-\udfff]*\Z")]
Words = str  # of an exception, so that it may hold anything
Count = Annotated[int, Meta(ge=0, le=_MOST)]
Finite = (
    Annotated[int, Meta(ge=-_MOST, le=_MOST)] | Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
)
Amount = Count | Annotated[float, Meta(ge=0, le=_LARGEST)]
Number = Finite | Literal["nan", "inf", "-inf"]


class Settings(Struct):
    """The settings of a study that are checked; it may have others.

    The latter ones are names and units, what pages show of the problem, and what the command line
    keeps with a study.
    """

    name: Text
    problem: list[Text]
    strategy: Text
    seed: Annotated[int, Meta(ge=0)]
    evaluation: Literal["separate", "chained"]
    sense: Literal[1, -1]
    entries: list[Text]
    lower: list[Finite]
    upper: list[Finite]
    constraints: list[Text]
    boxes: dict[Text, BoxShape]
    labels: Labels | None = None
    graph: list[Node] | None = None
    input_names: dict[Text, list[Text]] | None = None
    kinds: list[Literal["whole"] | list[Text] | None] | None = None
    file: Text | None = None
    trials: Count | None = None
    max_cost: Number | None = None
    gap_tol: Number | None = None
    workers: Count | None = None
    concluded: Concluded | None = None


class BoxShape(Struct):
    """The inputs and outputs of a black box."""

    outputs: Count | Annotated[list[Text], Meta(min_length=1)]
    inputs: Count
    cost: Amount


class Labels(Struct):
    """Names, units and tolerances of a problem."""

    objective: Text | None
    objective_unit: Text | None
    entry_units: list[Text | None]
    constraint_units: list[Text | None]
    formulas: list[Text]
    tolerances: list[Amount]

    def misfit(self, entries: int, constraints: int) -> bool:
        """Return whether there are other ones than variables and constraints."""
        of_constraints = {len(self.constraint_units), len(self.formulas), len(self.tolerances)}
        return len(self.entry_units) != entries or of_constraints != {constraints}


class Node(Struct):
    """A part of the picture of a problem."""

    kind: Text
    label: Text
    reads: list[Count]
    box: Text


class Believed(Struct):
    """The best trial as a strategy judges: its objective, and the most that this can be."""

    trial: Count
    objective: Number
    most: Number
    feasible: bool

    @classmethod
    def of(cls, best: Incumbent, history: History) -> Believed:
        """Return the best trial of a history."""
        objective, most = to_plain([best.objective, best.most])
        return cls(history.trials[best.position].number, objective, most, best.feasible)


class Concluded(Struct):
    """A result."""

    known: Count
    best: Believed | None
    bound: Number | None
    assurance: Text

    @classmethod
    def recorded(cls, settings: Data) -> Concluded | None:
        """Return the result that is stored with a study, if there is one."""
        stored = settings.get("concluded")
        return None if stored is None else msgspec.convert(stored, cls)


class StoredProbe(Struct):
    """A query beside the chain."""

    call: Count
    inputs: list[Number]


class StoredSuggestion(Struct):
    """A suggestion. A refutation is not stored: it can be derived again."""

    kind: TrialKind
    x: list[Finite]
    probes: list[StoredProbe]
    promise: Number | None
    optimum: Annotated[list[list[Number]], Meta(min_length=2, max_length=2)] | None
    proved: Number | None
    pending: Count
    chain: bool
    withheld: bool | UnsetType = UNSET

    @classmethod
    def of(cls, suggestion: Suggestion) -> StoredSuggestion:
        """Store a suggestion."""
        optimum = suggestion.optimum
        return cls(
            suggestion.kind,
            to_plain(suggestion.x),
            [StoredProbe(p.call, to_plain(p.inputs)) for p in suggestion.probes],
            number_to_plain(suggestion.bound.estimated),
            None if optimum is None else [to_plain(part) for part in optimum],
            number_to_plain(suggestion.bound.proved),
            suggestion.pending,
            suggestion.chain,
            suggestion.bound.withheld or UNSET,
        )

    def restored(self) -> Suggestion:
        """Return the suggestion that was stored."""
        optimum = self.optimum
        return Suggestion(
            self.kind,
            from_plain(self.x),
            tuple(Probe(p.call, from_plain(p.inputs)) for p in self.probes),
            Bound(
                number_from_plain(self.promise),
                number_from_plain(self.proved),
                withheld=self.withheld is True,
            ),
            None if optimum is None else (from_plain(optimum[0]), from_plain(optimum[1])),
            pending=self.pending,
            chain=self.chain,
        )


class ReadyQuery(Struct):
    """A query that can be evaluated now."""

    id: Text
    box: Text
    inputs: list[Number]
    calls: list[Count]


def outcome_fields(
    objective: float,
    constraints: Array,
    chain: Array,
    allowed: Array | None = None,
    lenient: Array | None = None,
) -> dict[str, Any]:
    """The outcome of a chain as fields of an event."""
    return {
        "objective": to_plain([objective])[0],
        "constraints": to_plain(constraints),
        "chain": to_plain(chain),
        "allowed": UNSET if allowed is None else to_plain(allowed),
        "lenient": UNSET if lenient is None else to_plain(lenient),
    }


# --- events ---------------------------------------------------------------------------------------
# What can happen to a study. The fields are in the order in which they are stored.

_MOST_NUMBERS = 6


class _Words(string.Formatter):
    """Shows fields: numbers, how many of something there are, and texts, cut if they are long."""

    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, list):
            return counted(len(value), spec) if spec else _numbers(value)
        if isinstance(value, bool):
            return spec.split("|")[not value]
        if value is None:
            return spec
        return cut(value) if spec == "cut" else str(value)


def _numbers(values: list[float]) -> str:
    """Numbers in brackets; the first ones if they are many."""
    more = ["..."] * (len(values) > _MOST_NUMBERS)
    return f"[{', '.join([*(f'{v:.5g}' for v in values[:_MOST_NUMBERS]), *more])}]"


class Details(Struct, frozen=True):
    """The details of an event.

    Attributes:
        kind: What happened, as it is stored.
        template: What happened, as people read it, with fields as `_Words` shows them.
        teaches: Whether a result may be another one after it.
        changes_rows: Whether it changes which trials the rows make that were observed elsewhere.
    """

    kind: ClassVar[str]
    template: ClassVar[str]
    teaches: ClassVar[bool] = True
    changes_rows: ClassVar[bool] = False

    @classmethod
    def of(cls, data: Data) -> Self:
        """Read the data of an event.

        Raises:
            WrongFieldError: A field is missing, or not of its type.
        """
        try:
            return msgspec.convert(data, cls)
        except (msgspec.ValidationError, UnicodeEncodeError):
            return cls(**_checked_fields(cls, data))

    def plain(self) -> dict[str, Any]:
        """Return the data of the event."""
        return msgspec.to_builtins(self, enc_hook=float)  # type: ignore[no-any-return]

    def _misfit(self, state: StudyState, number: int) -> str:
        """Say what does not fit the state, although each field is of its type; empty if all does.

        Args:
            state: The state before the event.
            number: Number of the event.
        """
        return ""

    def words(self) -> str:
        """Say what happened, for people to read."""
        return _Words().format(self.template, self)


class WrongFieldError(Exception):
    """A field of an event is missing, or not of its type; its name is the argument."""


class Created(Details, frozen=True):
    """The study began. The settings have no fixed fields: `Settings` are those that are checked."""

    kind = "created"
    template = "the study was created with {0.settings[strategy]}, seed {0.settings[seed]}"

    settings: Data

    @classmethod
    def of(cls, data: Data) -> Self:
        """Read the settings."""
        return cls(data)

    def plain(self) -> dict[str, Any]:
        """Return the settings."""
        return msgspec.to_builtins(self.settings, enc_hook=float)  # type: ignore[no-any-return]

    def _misfit(self, state: StudyState, number: int) -> str:
        return _settings_misfit(Settings(**_checked_fields(Settings, self.settings)))


class Changed(Created, frozen=True):
    """Some of the settings changed."""

    kind = "changed"

    def _misfit(self, state: StudyState, number: int) -> str:
        before = state.settings
        now = Settings(**_checked_fields(Settings, {**before, **self.settings}))
        lengths = len(now.entries), len(now.constraints)
        same = lengths == (len(before["entries"]), len(before["constraints"]))
        if now.problem == before["problem"] and not same:
            return "has other variables or constraints for the same problem"
        return _settings_misfit(now)

    def words(self) -> str:
        """Name the settings."""
        return f"settings: {', '.join(sorted(self.settings))}"


class Suggested(Details, frozen=True, kw_only=True):
    """A strategy or a person chose what to try next.

    Version 0.1 recorded no `gap_tol`, and version 0.2 neither `made_on` nor `believed`.
    """

    kind = "suggested"
    template = "trial {0.trial} ({0.suggestion.kind}) at {0.suggestion.x}"
    teaches = False

    trial: Count
    suggestion: StoredSuggestion
    remaining: Count | None
    budget: Number | None
    gap_tol: Number | None = None
    known: Count
    seconds: Amount
    queries: list[ReadyQuery]
    made_on: dict[Text, Text] | None = None
    believed: Believed | UnsetType | None = UNSET

    def _misfit(self, state: StudyState, number: int) -> str:
        trial, asked, entries = len(state.trials) + 1, self.suggestion, state.settings["entries"]
        if self.trial != trial:
            return f"is trial {self.trial}, where trial {trial} should be"
        if self.known >= number:
            return f"knows event {self.known}, which comes later"
        if len(asked.x) != len(entries):
            return f"has {len(asked.x)} variables, and the problem {len(entries)}"
        if any(probe.call >= _calls(state) for probe in asked.probes):
            return "asks for a call that the problem does not have"
        return _queries_misfit(state, trial, len(asked.probes), self.queries)


class _AboutQuery(Details, frozen=True):
    """Something that happened to a query without an answer."""

    query: Text

    def _misfit(self, state: StudyState, number: int) -> str:
        query = state.queries.get(self.query)
        if query is None:
            return f"is about a query {self.query!r}, which the study does not have"
        if query.outputs is not None:
            return f"is about query {query.id}, which has an answer already"
        return self._unlike(state, query)

    def _unlike(self, state: StudyState, query: QueryEntry) -> str:
        return ""


class Asked(_AboutQuery, frozen=True):
    """A query was handed out."""

    kind = "asked"
    template = "question {0.query} was given to {0.holder:somebody who asked}"
    teaches = False

    holder: Text | None
    until: Amount | None


class Told(_AboutQuery, frozen=True, kw_only=True):
    """A query was answered; `inputs` are what was done, if that is not what was asked for."""

    kind = "told"
    template = "question {0.query} was answered: {0.outputs}"

    outputs: list[Finite]
    seconds: Amount
    inputs: list[Finite] | UnsetType = UNSET
    ready: list[ReadyQuery]

    def _unlike(self, state: StudyState, query: QueryEntry) -> str:
        done = query.inputs if self.inputs is UNSET else self.inputs
        if not _fits(state, query.box, done, self.outputs):
            return f"holds {len(self.outputs)} outputs, unlike black box {query.box!r}"
        return _ready_misfit(state, state.trials[query.trial], self.ready)


class Failed(_AboutQuery, frozen=True):
    """An evaluation failed, or its worker was lost."""

    kind = "failed"
    template = "question {0.query} {0.lost:was lost|failed}: {0.reason:cut}"

    reason: Words
    lost: bool
    final: bool
    counts: bool


class Released(_AboutQuery, frozen=True):
    """A query was given back."""

    kind = "released"
    template = "question {0.query} was given back"
    teaches = False


class Observed(Details, frozen=True):
    """Answers came that belong to no query."""

    kind = "observed"
    template = "{0.inputs:answer} of {0.box} from elsewhere"
    changes_rows = True

    box: Text
    inputs: list[list[Finite]]
    outputs: list[list[Finite]]

    def _misfit(self, state: StudyState, number: int) -> str:
        rows = zip(self.inputs, self.outputs, strict=False)
        even = len(self.inputs) == len(self.outputs)
        if not even or not all(_fits(state, self.box, *row) for row in rows):
            return f"has other inputs or outputs than black box {self.box!r}"
        return ""


class _AboutTrial(Details, frozen=True):
    """Something that happened to a trial."""

    trial: Count

    def _misfit(self, state: StudyState, number: int) -> str:
        trial = state.trials.get(self.trial)
        if trial is None:
            return f"is about trial {self.trial}, which the study does not have"
        return self._unlike(state, trial)

    def _unlike(self, state: StudyState, trial: TrialEntry) -> str:
        return ""


class Ready(_AboutTrial, frozen=True):
    """More queries of a trial can be evaluated."""

    kind = "ready"
    template = "trial {0.trial} asks {0.ready:more question}"
    teaches = False

    ready: list[ReadyQuery]

    def _unlike(self, state: StudyState, trial: TrialEntry) -> str:
        return _ready_misfit(state, trial, self.ready)


class Completed(_AboutTrial, frozen=True):
    """A trial has all its answers; it has no objective if it lacks those of its chain."""

    kind = "completed"
    template = "trial {0.trial} is complete"

    objective: Number | None
    constraints: list[Number] | UnsetType = UNSET
    chain: list[Number] | UnsetType = UNSET
    allowed: list[Number] | UnsetType = UNSET
    lenient: list[Number] | UnsetType = UNSET

    def _unlike(self, state: StudyState, trial: TrialEntry) -> str:
        if self.objective is None:
            return ""
        if self.constraints is UNSET or self.chain is UNSET:
            return "lacks 'constraints' or 'chain', or they are no numbers"
        if len(self.constraints) != len(state.settings["constraints"]):
            return f"has {len(self.constraints)} constraints, unlike the problem"
        if complaint := _allowed_misfit(self):
            return complaint
        if state.changed:  # computed again, perhaps from answers of other trials
            return ""
        if trial.record is not None:
            return f"completes trial {trial.number}, which is complete"
        answers = trial.answers()
        # Every call of the chain has its answer, in the order of the calls.
        chain = [value for call in sorted(answers) for value in answers[call]]
        if len(answers) != _calls(state) or list(map(float, self.chain)) != chain:
            return f"completes trial {trial.number} with other answers than were recorded"
        return ""


class Abandoned(_AboutTrial, frozen=True):
    """A trial broke off."""

    kind = "abandoned"
    template = "trial {0.trial} broke off: {0.reason:cut}"

    reason: Words


class Moved(_AboutTrial, frozen=True):
    """A trial is at another point than was asked for; its open queries follow."""

    kind = "moved"
    template = "trial {0.trial} was moved to {0.x}"

    x: list[Finite]
    queries: dict[Text, list[Finite]]

    def _unlike(self, state: StudyState, trial: TrialEntry) -> str:
        if len(self.x) != len(state.settings["entries"]):
            return f"has {len(self.x)} variables, unlike the problem"
        own = {query.id: len(query.inputs) for query in trial.queries}
        if any(own.get(name) != len(inputs) for name, inputs in self.queries.items()):
            return "moves queries that the trial does not have, or gives them other inputs"
        return ""


class _AboutAnswer(Details, frozen=True):
    """Something that happened to an answer."""

    changes_rows = True

    answer: Text

    def _misfit(self, state: StudyState, number: int) -> str:
        seen = state.answer(self.answer)
        if seen is None:
            return f"is about an answer {self.answer!r}, which the study does not have"
        return self._unlike(seen)

    def _unlike(self, seen: Observation) -> str:
        return ""


class Corrected(_AboutAnswer, frozen=True):
    """The right answer was put in place of a wrong one."""

    kind = "corrected"
    template = "answer {0.answer} was corrected: {0.outputs}"

    inputs: list[Finite]
    outputs: list[Finite]

    def _unlike(self, seen: Observation) -> str:
        if (len(self.inputs), len(self.outputs)) != (len(seen.inputs), len(seen.outputs)):
            return f"has other inputs or outputs than black box {seen.box!r}"
        return ""


class Retracted(_AboutAnswer, frozen=True):
    """An answer was taken back."""

    kind = "retracted"
    template = "answer {0.answer} was taken back: {0.reason:cut}"

    reason: Words


class Reopened(_AboutTrial, frozen=True):
    """A trial is pending again: its answers serve these calls, and others are asked for."""

    kind = "reopened"
    template = "trial {0.trial} is asked again"

    calls: dict[Text, list[Count]]
    given: dict[Text, list[Finite]]
    ready: list[ReadyQuery]
    rank: Count | None

    def _unlike(self, state: StudyState, trial: TrialEntry) -> str:
        own = {query.id for query in trial.queries}
        return _ready_misfit(state, trial, self.ready) or (
            "" if set(self.calls) <= own else "names queries of another trial"
        )


class AssembledTrial(Struct):
    """A trial that observed rows make."""

    x: list[Finite]
    rows: list[Text]
    objective: Number
    constraints: list[Number]
    chain: list[Number]
    allowed: list[Number] | UnsetType = UNSET
    lenient: list[Number] | UnsetType = UNSET


Outcome = Completed | AssembledTrial
"""What has the outcome of a chain."""


class Assembled(Details, frozen=True):
    """Rows that were observed elsewhere make trials."""

    kind = "assembled"
    template = "{0.trials:trial} made of observed rows"
    changes_rows = True

    trials: list[AssembledTrial]

    def _misfit(self, state: StudyState, number: int) -> str:
        lengths = len(state.settings["entries"]), len(state.settings["constraints"])
        for trial in self.trials:
            if not all(map(state.has_row, trial.rows)):
                return "is made of rows that the study does not have"
            if (len(trial.x), len(trial.constraints)) != lengths:
                return "has other variables or constraints than the problem"
            if complaint := _allowed_misfit(trial):
                return complaint
        return ""


_TAKEN = {*Details.__annotations__, *vars(Details)}


def _kinds(parent: type[Details]) -> dict[str, type[Details]]:
    """Return the classes of events by kind.

    Raises:
        TypeError: A field has the name of something that all events have, and would replace it.
    """
    if taken := sorted(_TAKEN.intersection(parent.__struct_fields__)):
        raise TypeError(
            f"event class {parent.__name__}: every event has {taken[0]!r} already, so no field "
            "can have this name: rename the field"
        )
    found = {parent.kind: parent} if "kind" in vars(parent) else {}
    for child in parent.__subclasses__():
        found |= _kinds(child)
    return found


KINDS = _kinds(Details)
"""The class of each kind of event."""

# --- event checks ---------------------------------------------------------------------------------
# Checks that an event can follow what was recorded before it.
#
# A checksum tells that an event is what was recorded. Events of older versions have none, and a
# database may be damaged in other ways: then a sentence must say so, and no number may be
# wrong.


def checked_details(state: StudyState, event: Event) -> Details:
    """Return the details of an event that is complete and fits the state of the study.

    Raises:
        DamagedError: It is not, or does not; the state is unchanged.
        NewerError: A newer version recorded it; the state is unchanged.
    """
    name = state.settings.get("name")
    if is_newer(event):
        raise NewerError(name, event)
    if event.kind not in KINDS:
        raise DamagedError(name, event.number, f"is of an unknown kind, {event.kind!r}")
    complaint, details = _place_misfit(state, event), None
    if not complaint:
        try:
            details = KINDS[event.kind].of(event.data)
            complaint = details._misfit(state, event.number)
        except WrongFieldError as error:
            complaint = f"lacks {error.args[0]!r}, or it is not of its type"
    if details is None or complaint:
        raise DamagedError(name, event.number, f"({event.kind}) {complaint}")
    return details


def is_newer(event: Event) -> bool:
    """Return True if only a newer version can have recorded an event.

    Without a checksum, a kind that is not known may be damage.
    """
    return event.verified and event.kind not in KINDS


def _place_misfit(state: StudyState, event: Event) -> str:
    if event.number != state.position + 1:
        return f"follows event {state.position}"
    if (event.kind == Created.kind) is not (event.number == 1):
        return "should be the first one" if event.number > 1 else "is not the creation of the study"
    return ""


def _checked_fields(record: type[Struct], data: Data) -> dict[str, Any]:
    """Read the fields of a record one by one: fields that it does not have may hold anything.

    Raises:
        WrongFieldError: A field is missing, or not of its type.
    """
    found: dict[str, Any] = {}
    for field in _fields(record):
        if field.name in data:
            try:
                found[field.name] = msgspec.convert(data[field.name], field.type)
            except (msgspec.ValidationError, UnicodeEncodeError):
                raise WrongFieldError(field.name) from None
        elif field.required:
            raise WrongFieldError(field.name)
    return found


@lru_cache(maxsize=len(KINDS) + 1)
def _fields(record: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(record)


def _settings_misfit(settings: Settings) -> str:
    entries = len(settings.entries)
    if len(settings.lower) != entries or len(settings.upper) != entries:
        return "has bounds for other variables"
    if settings.labels and settings.labels.misfit(entries, len(settings.constraints)):
        return "has units for other variables or constraints"
    return ""


def _ready_misfit(state: StudyState, trial: TrialEntry, queries: Iterable[ReadyQuery]) -> str:
    return _queries_misfit(state, trial.number, len(trial.suggestion.probes), queries)


def _queries_misfit(
    state: StudyState, trial: int, probes: int, queries: Iterable[ReadyQuery]
) -> str:
    calls = _calls(state)
    for query in queries:
        place = re.fullmatch(rf"{trial}-(p?)([1-9]\d{{0,8}})", query.id)
        # A call that is asked again, at other inputs, has a further number.
        asked = calls + len(state.trials[trial].queries) if trial in state.trials else calls
        if place is None or int(place[2]) > (probes if place[1] else asked):
            return f"names a query {query.id!r}, which trial {trial} cannot have"
        if not _fits(state, query.box, query.inputs) or max(query.calls, default=-1) >= calls:
            return f"has a query {query.id} that no black box of the problem can answer"
    return ""


def _allowed_misfit(outcome: Outcome) -> str:
    for given in (outcome.allowed, outcome.lenient):
        if given is UNSET or outcome.constraints is UNSET:
            continue
        if len(given) != len(outcome.constraints):
            return "has 'allowed' or 'lenient' that is not one number for each constraint"
    return ""


def _fits(state: StudyState, box: str, inputs: Any, outputs: Any = None) -> bool:
    """Whether inputs, and outputs if given, are as many as a black box has."""
    declared = state.settings["boxes"].get(box)
    if declared is None or len(inputs) != declared["inputs"]:
        return False
    expected = declared["outputs"]
    count = expected if isinstance(expected, int) else len(expected)
    return outputs is None or len(outputs) == count


def _calls(state: StudyState) -> int:
    """How many calls of black boxes the problem has."""
    return _calls_in(tuple(state.settings["problem"]))


@lru_cache(maxsize=16)
def _calls_in(fingerprint: tuple[str, ...]) -> int:
    return sum(re.match(r"#\d+ = black box ", line) is not None for line in fingerprint)
