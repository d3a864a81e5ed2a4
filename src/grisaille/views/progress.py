"""The live view of a running study, in a terminal or a notebook.

Whatever happens to the view, the run goes on.

In a notebook, the table is HTML that is updated, not a widget, so that a saved notebook still shows
it. The Stop button only sets an event, which the runner reads before it submits or suggests.
`solve` blocks the main thread, so the thread that receives messages notices the click; running the
kernel's loop inside a cell would handle messages of other cells, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event
from typing import Any

from markupsafe import Markup

from grisaille.errors import printable, raised
from grisaille.interrupts import interruptible
from grisaille.language.problem import Problem
from grisaille.markup import code, element, joined, small, table
from grisaille.records import Untested

# --- progress -------------------------------------------------------------------------------------
# The live view of a running study. Whatever happens to the view, the run goes on.


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
    def is_silent(self) -> bool:
        """True if nothing is shown, so that rows need not be worked out."""
        return type(self) is Progress

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


@dataclass(frozen=True, slots=True)
class ProgressConstants:
    """The constants of the live view of a run.

    Attributes:
        counters: Black boxes whose evaluations are counted. A choice of layout.
        rows: Rows of the table in a notebook. A choice of layout.
        notes: Notes below it. A choice of layout.
        pause: Seconds between two drawings. A choice of patience.
    """

    counters: int = 3
    rows: int = 10
    notes: int = 3
    pause: float = 0.2


PROGRESS = ProgressConstants()


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
    if len(names) > PROGRESS.counters:  # best value and bound matter more than counters
        names = []
    headers = [printable(header) for header in (*_COLUMNS, *names, "seconds")]

    def make() -> Progress:

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


# --- notebook progress ----------------------------------------------------------------------------
# The view of a running study in a notebook: a table that is updated, and a button that stops.
#
# The table needs nothing but IPython. The button needs `ipywidgets`, and a kernel that reads
# messages while a cell runs (ipykernel 7 and later). Without them there is no button, and
# interrupting the kernel stops the run as well.

_BAR = "height:4px;border-radius:2px"


def kernel_shell() -> Any:
    """IPython's shell if this process is the kernel of a notebook; else None."""
    ipython = sys.modules.get("IPython")
    if ipython is None:  # a kernel has imported it
        return None
    shell = ipython.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


class NotebookTable(Progress):
    """The last trials as a table, the gap so far, and what is going on.

    Args:
        shell: IPython's shell.
        names: The black boxes whose evaluations are counted.
        headers: Of the columns.
        trials: How many trials there will be; None if that is open.
    """

    def __init__(
        self, shell: Any, names: list[str], headers: list[str], trials: int | None = None
    ) -> None:
        self._names = names
        self._headers = headers
        self._trials = trials
        self._rows: list[Row] = []
        self._notes: list[str] = []
        self._now = ""
        self._drawn = -PROGRESS.pause
        self._display: Any = None
        self._button = _stop_button(shell)

    @property
    def stop_requested(self) -> bool:
        """Whether somebody pressed the button."""
        return self._button is not None and self._button.pressed.is_set()

    def open(self) -> None:
        """Show the button and an empty table."""
        from IPython.display import display

        if self._button is not None:
            self._button.show()
        self._display = display(self._content(), raw=True, display_id=True)

    def add(self, row: Row) -> None:
        """Show one more row."""
        self._rows.append(row)
        self._draw()
        self.shown_gap = row.gap

    def doing(self, what: str) -> None:
        """Show what is going on now."""
        self._now = what
        self._draw()

    def note(self, what: str) -> None:
        """Show something unusual."""
        self._notes.append(what)
        self._draw()

    def close(self) -> None:
        """Leave the last state behind, without the button."""
        self._now = ""
        if self._button is not None:
            self._button.hide()
        if self._display is not None:
            self._display.update(self._content(), raw=True)

    def _draw(self) -> None:
        if time.monotonic() - self._drawn < PROGRESS.pause:
            return
        self._display.update(self._content(), raw=True)
        self._drawn = time.monotonic()

    def _content(self) -> dict[str, str]:
        """The view as HTML, and as text for those who cannot show it."""
        rows = [cells(row, self._names) for row in self._rows[-PROGRESS.rows :]]
        below = [*self._notes[-PROGRESS.notes :], self._now]
        if self.stop_requested and self._now:
            below[-1] += " (stops after this)"
        below = [printable(line) for line in below if line]
        numbers = set(range(len(self._headers))) - {1, 4}
        shown = [
            element("div", self._summary()),
            self._bar(),
            table(self._headers, rows, numbers=numbers) if rows else "",
            *(element("div", small(code(line))) for line in below),
        ]
        lines = aligned(self._headers, rows) if rows else []
        plain = "\n".join([self._summary(), *lines, *below])
        return {"text/html": joined(shown), "text/plain": plain}

    def _summary(self) -> str:
        """Best value, bound and gap in a line."""
        if not self._rows:
            return "no trial is complete yet"
        last = self._rows[-1]
        parts = ["best feasible -" if last.best is None else f"best feasible {last.best:.6g}"]
        if last.bound is not None:
            parts.append(f"bound {last.bound:.6g} ({last.bound_is})")
        if last.gap is not None:
            parts.append(f"gap {max(last.gap, 0.0):.3g}")
        planned = f" of {self._trials}" if self._trials else ""
        parts.append(f"trial {last.trial}{planned}, {last.seconds:.0f} s")
        return ", ".join(parts)

    def _bar(self) -> Markup:
        """How far the run is; nothing if the number of trials is open."""
        if not self._trials:
            return Markup()
        done = self._rows[-1].trial / self._trials if self._rows else 0.0
        filled = element("div", style=f"{_BAR};width:{100 * min(done, 1.0):.0f}%;background:#888")
        return element("div", filled, style=f"{_BAR};width:30em;max-width:100%;background:#8883")


class _StopButton:
    """A button that asks the run to stop.

    Attributes:
        pressed: Set when somebody has pressed it.
    """

    def __init__(self, widgets: Any) -> None:
        self.pressed = Event()
        self._display: Any = None
        self._button = widgets.Button(
            description="Stop", tooltip="Finish the evaluations under way, then return the result"
        )
        self._button.on_click(lambda _: self.pressed.set())
        self._listen_early()

    def _listen_early(self) -> None:
        """Notice a click when it arrives, not when the cell has ended.

        Some frontends send clicks to another thread of the kernel, which handles them while a cell
        runs. Otherwise the thread that receives messages asks the channel of the button where each
        one belongs. A kernel that does not ask leaves it at the first way.
        """
        channel = self._button.comm
        route = getattr(channel, "_reply_subshell_for", None)
        if route is None:
            return

        def look_and_route(data: Any, default: Any) -> Any:
            if _is_click(data):
                self.pressed.set()
            return route(data, default)

        channel._reply_subshell_for = look_and_route

    def show(self) -> None:
        """Show the button."""
        from IPython.display import display

        self._display = display(self._button, display_id=True)

    def hide(self) -> None:
        """Take the button away: a saved notebook could not show it."""
        if self._display is not None:
            self._display.update({"text/html": "", "text/plain": ""}, raw=True)
        if not self.pressed.is_set():  # else its click may still have to be handled
            self._button.close()


def _is_click(data: Any) -> bool:
    """Whether a message to a button says that it was clicked."""
    content = data.get("content") if isinstance(data, dict) else None
    return isinstance(content, dict) and content.get("event") == "click"


def _stop_button(shell: Any) -> _StopButton | None:
    """A button, if a click can arrive while a cell runs."""
    if getattr(shell.kernel, "shell_channel_thread", None) is None:
        return None
    with suppress(Exception):  # not installed, or broken: the run does not need it
        import ipywidgets

        return _StopButton(ipywidgets)
    return None
