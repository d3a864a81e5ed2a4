"""Which answers belong to which trial: what is complete, what is loose, and what was corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from grisaille.errors import printable
from grisaille.records import Observation, Suggestion, Trial
from grisaille.storage.event_log import Data
from grisaille.study.encoding import from_plain
from grisaille.study.trials_and_queries import QueryEntry, QueryState, TrialEntry, TrialState


@dataclass(slots=True)
class TrialOutcomes:
    """The complete trials, and the answers that belong to none of them.

    Attributes:
        trials, queries: All trials by number, all queries by id.
        complete: The complete trials by number, in the order of their completion.
        loose: Answers that belong to no complete trial, by query; `12/1` if made elsewhere.
        made: The trials that were ever made of an observed row, by its name.
    """

    trials: dict[int, TrialEntry]
    queries: dict[str, QueryEntry]
    complete: dict[int, Trial] = field(default_factory=dict)
    loose: dict[str, Observation] = field(default_factory=dict)
    made: dict[str, list[TrialEntry]] = field(default_factory=dict)

    def answer(self, name: str) -> Observation | None:
        """The answer to a query, or an observed row, by its name; None if there is none."""
        query = self.queries.get(name)
        if query is not None:
            return None if query.outputs is None else observation(query)
        entry = self.made_of(name)
        if entry is None or entry.record is None:
            return self.loose.get(name)
        return entry.record.observations[len(entry.told) + entry.rows.index(name)]

    def has_row(self, name: str) -> bool:
        """Return whether a row of this name was observed elsewhere, and is still believed."""
        if name in self.loose:
            return name not in self.queries
        entry = self.made_of(name)
        return entry is not None and entry.record is not None

    def free_rows(self) -> dict[str, Observation]:
        """The rows that were observed elsewhere and belong to no trial, by their names."""
        found = {
            name: seen
            for name, seen in self.loose.items()
            if name not in self.queries and self.made_of(name) is None
        }
        return _in_order(found)

    def rows(self) -> dict[str, Observation]:
        """All rows that were observed elsewhere, by their names, such as `12/1`."""
        found = {name: seen for name, seen in self.loose.items() if name not in self.queries}
        for entry in self.trials.values():
            if entry.record is not None:
                elsewhere = entry.record.observations[len(entry.told) :]
                found.update(zip(entry.rows, elsewhere, strict=True))
        return _in_order(found)

    def finish(self, entry: TrialEntry, outcome: Data) -> None:
        """Let a trial be complete, with its own answers and the rows that it is made of."""
        entry.state = TrialState.COMPLETE
        seen = [observation(query) for query in entry.told]
        entry.rows = tuple(row for row in entry.rows if row in self.loose)
        for row in entry.rows:
            self.made.setdefault(row, []).append(entry)
        seen += [self.loose.pop(row) for row in entry.rows]
        entry.record = Trial(
            entry.number,
            entry.suggestion,
            float(from_plain([outcome["objective"]])[0]),
            from_plain(outcome["constraints"]),
            from_plain(outcome["chain"]),
            tuple(seen),
            (entry.seconds, entry.seconds_evaluating),
            entry.known,
            from_plain(outcome["allowed"]) if "allowed" in outcome else None,
            from_plain(outcome["lenient"]) if "lenient" in outcome else None,
        )
        self.complete[entry.number] = entry.record
        for query in entry.told:
            self.loose.pop(query.id, None)

    def forget(self, entry: TrialEntry) -> None:
        """Take the outcome of a trial back: it has another one now, or none."""
        if entry.record is None:
            return
        del self.complete[entry.number]
        self.loose.update({query.id: observation(query) for query in entry.told})
        elsewhere = entry.record.observations[len(entry.told) :]
        self.loose.update(zip(entry.rows, elsewhere, strict=True))
        entry.record = None

    def with_suggestion(self, entry: TrialEntry, suggestion: Suggestion) -> None:
        """Let a trial have another suggestion, and its record, too."""
        entry.suggestion = suggestion
        if entry.record is not None:
            entry.record = replace(entry.record, suggestion=suggestion)
            self.complete[entry.number] = entry.record

    def move(self, data: Data) -> None:
        """Let a trial be at the point that was really tried; open queries follow."""
        entry = self.trials[data["trial"]]
        entry.visited.append(entry.suggestion.x)
        entry.suggestion = replace(entry.suggestion, x=from_plain(data["x"]))
        for name, inputs in data["queries"].items():
            query = self.queries[name]
            query.inputs = query.wanted = from_plain(inputs)
            if query.outputs is not None and query.id in self.loose:
                self.loose[query.id] = observation(query)

    def correct(self, data: Data) -> None:
        """Put the right answer in place of a wrong one; a trial that uses it has no outcome then.

        Answers beside the chain, and those of earlier rounds of a loop, change no outcome.
        """
        name = data["answer"]
        if name not in self.queries:  # a row that was observed elsewhere
            entry = self.made_of(name)
            if entry is not None:
                self.forget(entry)
                entry.state, entry.rows = TrialState.PARTIAL, ()
            seen = self.loose[name]
            inputs = from_plain(data["inputs"])
            self.loose[name] = replace(seen, inputs=inputs, outputs=from_plain(data["outputs"]))
            return
        query = self.queries[name]
        entry = self.trials[query.trial]
        if query.calls:
            self.forget(entry)
        query.inputs, query.outputs = from_plain(data["inputs"]), from_plain(data["outputs"])
        if entry.record is None:
            self.loose[name] = observation(query)
        else:
            self._see_again(entry, len(entry.told))

    def retract(self, data: Data) -> None:
        """Take an answer back; a trial that uses it has no outcome then."""
        name = data["answer"]
        query = self.queries.get(name)
        entry = self.made_of(name) if query is None else self.trials[query.trial]
        is_complete = entry is not None and entry.record is not None
        if query is not None and entry is not None and is_complete and not query.calls:
            before = len(entry.told)
            self._take_back(entry, query, data)
            self._see_again(entry, before)
            return
        if entry is not None:
            self.forget(entry)
            if entry.state is TrialState.COMPLETE:
                entry.state = TrialState.PARTIAL
            entry.rows = tuple(row for row in entry.rows if row != name)
        if query is not None and entry is not None:
            self._take_back(entry, query, data)
        del self.loose[name]

    def _take_back(self, entry: TrialEntry, query: QueryEntry, data: Data) -> None:
        entry.told.remove(query)
        query.state, query.outputs = QueryState.RETRACTED, None
        query.reason = printable(data["reason"])

    def _see_again(self, entry: TrialEntry, before: int) -> None:
        """Let a complete trial have the answers that it has now; it had so many of its own."""
        assert entry.record is not None
        own = [observation(query) for query in entry.told]
        seen = (*own, *entry.record.observations[before:])
        entry.record = replace(entry.record, observations=seen)
        self.complete[entry.number] = entry.record

    def made_of(self, row: str) -> TrialEntry | None:
        """The trial that an observed row belongs to, if it belongs to one."""
        made = [entry for entry in self.made.get(row, ()) if row in entry.rows]
        return min(made, key=lambda entry: entry.number, default=None)


def _in_order(rows: Mapping[str, Observation]) -> dict[str, Observation]:
    """Rows in the order in which they were recorded, which their names tell."""
    return dict(sorted(rows.items(), key=lambda row: tuple(map(int, row[0].split("/")))))


def observation(query: QueryEntry) -> Observation:
    """The answer to a query, as a record."""
    assert query.outputs is not None  # it is answered
    return Observation(query.box, query.inputs, query.outputs, query.recorded)
