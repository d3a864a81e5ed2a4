"""What a comparison found: every run, tables and figures."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grisaille.comparison.figures import draw_regret
from grisaille.comparison.plan import LeftOut
from grisaille.comparison.regret_curves import final_value
from grisaille.comparison.report import write_report
from grisaille.comparison.results import Results
from grisaille.comparison.summary import summary_table
from grisaille.comparison.tables import runs_csv
from grisaille.errors import ModelError, cut, shortened

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Comparison:
    """Strategies side by side on the same problems, from the same initial points.

    Attributes:
        results: Every run with all its trials.
        strategies: Names of the strategies, in the order in which they were given.
        left_out: Strategies that refused a problem, and why.
        planned: How many runs there are when it is complete.
        folder: Where the runs are stored; None if nowhere.
    """

    results: Results
    strategies: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    planned: int
    folder: Path | None = None

    @property
    def complete(self) -> bool:
        """Whether every run was made; False after Ctrl-C."""
        return len(self.results.runs) == self.planned

    @property
    def runs(self) -> pandas.DataFrame:
        """One row per run, sorted by problem, strategy and seed.

        `value` is the objective that it came to, in the problem's own sense, `regret_final` its
        distance from the optimum, `evaluations_to_one_percent` how many evaluations after the
        initial design left 1 % of the initial regret, `seconds_per_suggestion` a median.
        """
        import pandas

        frame = pandas.read_csv(io.StringIO(runs_csv(self.results)))
        ordered = sorted(self.results.runs, key=lambda run: run.job)
        frame["message"] = [run.message for run in ordered]
        values = [np.nan if run.failed else final_value(run) for run in ordered]
        frame.insert(frame.columns.get_loc("optimum"), "value", values)
        frame.insert(frame.columns.get_loc("value"), "feasible", np.isfinite(values))
        return frame

    def table(self) -> str:
        """A line for each strategy on each problem, as Markdown.

        Value, regret with its quartiles, and evaluations are over the seeds. Feasible is the share
        of runs that found a feasible point. Evaluations are those after the initial design until
        1 % of its regret is left. Time is that of a suggestion, in multiples of what the first
        strategy takes.
        """
        text = summary_table(self.results, self.strategies, self.left_out)
        if self.complete:
            return text
        return f"{text}\nInterrupted: {len(self.results.runs)} of {self.planned} runs were made.\n"

    def plot(self, path: str | Path) -> Path:
        """Draw regret against evaluations; one problem in detail, several in small panels.

        Args:
            path: The picture's file, such as "regret.png" or "regret.pdf".

        Returns:
            The file.
        """
        if all(run.failed for run in self.results.runs):
            raise ModelError("plot: every run failed, so there is nothing to draw: see table()")
        file = _path("plot", "path", path)
        file = file if file.suffix else file.with_suffix(".png")
        try:
            draw_regret(self.results, self.strategies, file)
        except (OSError, ValueError) as error:
            raise ModelError(f"plot(path={shortened(str(path))}): {cut(str(error))}") from error
        return file

    def save(self, folder: str | Path | None = None) -> list[Path]:
        """Write every table and figure: `runs.csv`, `table.md`, `regret.png`, `profiles.png`, ...

        Args:
            folder: Where to write them; by default the folder of the runs.

        Returns:
            The files.
        """
        if folder is None and self.folder is None:
            raise ModelError("save(): the runs have no folder, so name one: save('comparison')")
        place = _path("save", "folder", self.folder if folder is None else folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
            return write_report(place, self.results, self.strategies, self.left_out)
        except (OSError, ValueError) as error:
            shown = shortened(str(place))
            raise ModelError(f"save(folder={shown}): {cut(str(error))}") from error

    def __str__(self) -> str:
        return self.table()


def _path(who: str, name: str, value: object) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip():
        raise ModelError(f"{who}({name}={shortened(value)}): pass the name of a file or folder")
    return Path(value)
