"""The live view of a running study."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from grisaille.language.problem import Problem


@dataclass(frozen=True, slots=True)
class Row:
    """The state of a study after a trial, in the user's sense; None where unknown."""

    trial: int
    kind: str
    best: float | None
    bound: float | None
    certified: bool
    gap: float | None
    violation: float
    evaluations: dict[str, int]
    seconds: float


class Progress:
    """Shows the rows of a running study. This class itself shows nothing."""

    def add(self, row: Row) -> None:
        """Show one more row."""

    def doing(self, what: str) -> None:
        """Show what is going on now."""

    def note(self, what: str) -> None:
        """Show something unusual."""


_MOST_COUNTERS = 3
_COLUMNS = ("trial", "kind", "best feasible", "bound", "bound is", "gap", "violation")


@contextmanager
def show_progress(problem: Problem, live: bool | None) -> Iterator[Progress]:
    """A live table in a terminal (or when `live` is True), plain lines otherwise."""
    names = [box.name for box in problem.boxes]
    if len(names) > _MOST_COUNTERS:  # best value and bound matter more than counters
        names = []
    if live or (live is None and sys.stdout.isatty()):
        from rich.console import Console
        from rich.live import Live

        console = Console()
        table = _LiveTable(names, max(5, console.height - 6))
        # Output of black boxes appears above the table.
        with Live(table, console=console, refresh_per_second=8) as view:
            table.refresh = view.refresh
            try:
                yield table
            finally:
                table.doing("")
    else:
        yield _PlainLines(names)


class _PlainLines(Progress):
    """Lines that show what has happened, not what is going on."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._started = False

    def add(self, row: Row) -> None:
        cells = _cells(row, self._names)
        headers = [*_COLUMNS, *self._names, "seconds"]
        widths = [5, *(max(12, len(h)) for h in headers[1:])]
        for line in [cells] if self._started else [headers, cells]:
            print("  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)), flush=True)
        self._started = True

    def note(self, what: str) -> None:
        print(what, flush=True)


class _LiveTable(Progress):
    def __init__(self, names: list[str], height: int) -> None:
        self._names = names
        self._height = height
        self._rows: list[Row] = []
        self._now = ""
        self._notes: list[str] = []
        self.refresh: Any = lambda: None

    def add(self, row: Row) -> None:
        self._rows.append(row)
        self.refresh()

    def doing(self, what: str) -> None:
        self._now = what
        self.refresh()

    def note(self, what: str) -> None:
        self._notes.append(what)
        self.refresh()

    def __rich__(self) -> Any:
        from rich.table import Table

        # Every column counts in a terminal of 80.
        table = Table(
            box=None,
            header_style="bold",
            caption="\n".join([*self._notes[-3:], self._now]),
            caption_justify="left",
            pad_edge=False,
            collapse_padding=True,
        )
        for header in (*_COLUMNS, *self._names, "seconds"):
            table.add_column(header, justify="right", no_wrap=header in ("kind", "bound is"))
        for row in self._rows[-self._height :]:
            table.add_row(*_cells(row, self._names))
        return table


def certainty(certified: bool) -> str:
    """How sure a bound is: the word that tables show."""
    return "certified" if certified else "estimated"


def _cells(row: Row, names: list[str]) -> list[str]:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.6g}"

    return [
        str(row.trial),
        row.kind,
        number(row.best),
        number(row.bound),
        "-" if row.bound is None else certainty(row.certified),
        "-" if row.gap is None else f"{max(row.gap, 0.0):.3g}",
        "0" if row.violation == 0 else f"{row.violation:.2e}",
        *(str(row.evaluations.get(name, 0)) for name in names),
        f"{row.seconds:.1f}",
    ]
