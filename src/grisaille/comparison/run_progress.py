"""How many runs are done, as a user sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def run_progress(total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Give a function that shows how many runs are done: a bar in a terminal, else some lines.

    Args:
        total: How many runs there are.
        shown: Whether to show anything.
    """
    if not shown:
        yield lambda _done: None
        return
    if not sys.stdout.isatty():
        last = -20

        def show(done: int) -> None:
            nonlocal last
            if done - last >= min(20, total // 10) or done == total:
                last = done
                with suppress(OSError):  # whoever reads the lines may be gone: the runs go on
                    print(f"{done} of {total} runs", flush=True)

        yield show
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        "runs", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True)
    ) as view:
        task = view.add_task("runs", total=total)
        yield lambda done: view.update(task, completed=done)
