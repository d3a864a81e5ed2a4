"""The live view of a running study. Whatever happens to the view, the run goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from grisaille.errors import printable, raised
from grisaille.interrupts import interruptible
from grisaille.language.problem import Problem
from grisaille.records import Untested


@dataclass(frozen=True, slots=True)
class Row:
    """The state of a study after a trial, in the user's sense; None where unknown."""

    trial: int
    kind: str
    best: float | None
    bound: float | None
    bound_is: str
    gap: float | None
    violation: float
    evaluations: dict[str, int]
    seconds: float


class Progress:
    """Shows the rows of a running study. This class itself shows nothing.

    Attributes:
        trouble: Why the view was switched off; empty if it was not.
        shown_gap: The gap in the last row that was shown; None if there is none.
    """

    trouble = ""
    shown_gap: float | None = None

    @property
    def stop_requested(self) -> bool:
        """Whether somebody asked in the view that the run stops."""
        return False

    def open(self) -> None:
        """Begin to show."""

    def add(self, row: Row) -> None:
        """Show one more row."""

    def doing(self, what: str) -> None:
        """Show what is going on now."""

    def note(self, what: str) -> None:
        """Show something unusual."""

    def close(self) -> None:
        """Leave the last state behind, and give the terminal back."""


_MOST_COUNTERS = 3
_COLUMNS = ("trial", "kind", "best feasible", "bound", "bound is", "gap", "violation")


@contextmanager
def show_progress(
    problem: Problem, live: bool | None, trials: int | None = None
) -> Iterator[Progress]:
    """A live table in a terminal or a notebook (or when `live` is True), plain lines otherwise.

    A view that fails (a closed pipe, a full disk) is switched off, and says so in `trouble`.

    Args:
        problem: The problem.
        live: Whether to show a live table; None for where it can be shown.
        trials: How many trials there will be; None if that is open.
    """
    names = [box.name for box in problem.boxes]
    if len(names) > _MOST_COUNTERS:  # best value and bound matter more than counters
        names = []
    headers = [printable(header) for header in (*_COLUMNS, *names, "seconds")]

    def make() -> Progress:
        from grisaille.reporting.notebook_progress import NotebookTable, kernel_shell

        if live is None and sys.stdout is None:  # no console, as on some desktops
            return Progress()
        shell = kernel_shell()
        if shell is not None and live is not False:
            return NotebookTable(shell, names, headers, trials)
        if live or (live is None and sys.stdout.isatty()):
            return _LiveTable(names, headers)
        return _PlainLines(names, headers)

    view = _SafeView(make)
    view.open()
    try:
        yield view
    finally:
        view.close()


class _SafeView(Progress):
    """Passes everything on to a view, until the view fails."""

    def __init__(self, make: Callable[[], Progress]) -> None:
        self._make = make
        self._view = Progress()

    def open(self) -> None:
        self._attempt(self._open)

    def _open(self) -> None:
        self._view = self._make()
        self._view.open()

    def add(self, row: Row) -> None:
        self._attempt(lambda: self._view.add(row))
        self.shown_gap = self._view.shown_gap

    def doing(self, what: str) -> None:
        self._attempt(lambda: self._view.doing(what))

    def note(self, what: str) -> None:
        self._attempt(lambda: self._view.note(what))

    def close(self) -> None:
        self._attempt(self._view.close)

    @property
    def stop_requested(self) -> bool:
        return self._view.stop_requested

    def _attempt(self, show: Callable[[], None]) -> None:
        try:
            interruptible(show)  # a terminal may be stopped
        except (Exception, SystemExit) as error:  # Rich exits when its pipe is closed
            self.trouble = raised(error)
            broken, self._view = self._view, Progress()
            with suppress(Exception, SystemExit):
                broken.close()


class _PlainLines(Progress):
    """Lines that show what has happened, not what is going on."""

    def __init__(self, names: list[str], headers: list[str]) -> None:
        self._names = names
        self._headers = headers
        self._started = False

    def add(self, row: Row) -> None:
        lines = [cells(row, self._names)]
        for line in aligned(self._headers, lines, with_headers=not self._started):
            print(line, flush=True)
        self._started = True
        self.shown_gap = row.gap

    def note(self, what: str) -> None:
        print(printable(what), flush=True)


class _LiveTable(Progress):
    """A table that is drawn anew whenever something happens; black boxes may print above it."""

    def __init__(self, names: list[str], headers: list[str]) -> None:
        from rich.console import Console
        from rich.live import Live

        self._names = names
        self._headers = headers
        self._rows: list[Row] = []
        self._now = ""
        self._notes: list[str] = []
        # In a notebook Rich would want widgets, and warn without them.
        console = Console(force_jupyter=False)
        self._height = max(5, console.height - 6)
        # It draws itself: an error in a thread of Rich could not be caught.
        self._live = Live(self, console=console, auto_refresh=False)

    def open(self) -> None:
        self._live.start(refresh=True)

    def add(self, row: Row) -> None:
        self._rows.append(row)
        self._live.refresh()
        self.shown_gap = row.gap

    def doing(self, what: str) -> None:
        self._now = what
        self._live.refresh()

    def note(self, what: str) -> None:
        self._notes.append(what)
        self._live.refresh()

    def close(self) -> None:
        self._now = ""
        self._live.stop()

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        # `Text`, because Rich reads brackets in a plain string as markup. Every column counts in
        # a terminal of 80.
        table = Table(
            box=None,
            header_style="bold",
            caption=Text(printable("\n".join([*self._notes[-3:], self._now]))),
            caption_justify="left",
            pad_edge=False,
            collapse_padding=True,
        )
        for header in self._headers:
            whole = header in ("kind", "bound is")
            table.add_column(Text(header), justify="right", no_wrap=whole)
        for row in self._rows[-self._height :]:
            table.add_row(*map(Text, cells(row, self._names)))
        return table


def certainty(certified: bool, doubted: Untested | None) -> str:
    """Return how sure a bound is, in the word that tables show."""
    if doubted is not None:
        return doubted.brief
    return "certified" if certified else "estimated"


def aligned(headers: list[str], rows: list[list[str]], *, with_headers: bool = True) -> list[str]:
    """Rows as lines of text whose columns stand below one another."""
    widths = [5, *(max(12, len(header)) for header in headers[1:])]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in ([headers, *rows] if with_headers else rows)
    ]


def cells(row: Row, names: list[str]) -> list[str]:
    """A row as texts; `names` are the black boxes whose evaluations are counted."""

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.6g}"

    return [
        str(row.trial),
        row.kind,
        number(row.best),
        number(row.bound),
        "-" if row.bound is None else row.bound_is,
        "-" if row.gap is None else f"{max(row.gap, 0.0):.3g}",
        "0" if row.violation == 0 else f"{row.violation:.2e}",
        *(str(row.evaluations.get(name, 0)) for name in names),
        f"{row.seconds:.1f}",
    ]
