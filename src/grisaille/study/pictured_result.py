"""The pictures of a result: the half of `Result` that draws."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.optimize import OptimizeResult

from grisaille.checks import check_choice, is_whole
from grisaille.errors import ModelError, shortened
from grisaille.inspection.inspection import Inspection
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.records import History
from grisaille.strategies.strategy import Strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Path = str | os.PathLike[str] | None


class PicturedResult(OptimizeResult):  # type: ignore[misc]
    """What can be drawn of a result. `Result` is the whole.

    Every method returns a Matplotlib figure, which a notebook shows as it is. `axes=` takes an Axes
    or an array of them to draw into, and `path=` saves the picture; its ending chooses the format.
    """

    problem: Problem
    history: History
    strategy: Strategy
    fun: float
    lower_bound: float
    upper_bound: float

    def plot(
        self,
        path: Path = None,
        *,
        axes: Any = None,
        against: Literal["trial", "cost"] = "trial",
        scale: Literal["linear", "log"] = "linear",
    ) -> Figure:
        """Convergence: trials, best feasible value and bound; the gap; the violations.

        Circles are feasible trials and crosses infeasible ones. Triangles at the edge are trials
        outside the axis, open ones if they are infeasible. The gap has a logarithmic axis.

        Args:
            path: Where to save it; None for nowhere.
            axes: One Axes for the objective alone, or one for each panel.
            against: "trial" for the number of the trial, "cost" for what all answers up to then
                cost.
            scale: "log" shows how far the values are from the final bound on a logarithmic axis;
                from the best value if there is no bound, or one that is farther away than all
                feasible trials.
        """
        check_choice("plot", "against", against, ("trial", "cost"))
        check_choice("plot", "scale", scale, ("linear", "log"))

        def draw() -> Figure:
            from grisaille.inspection.convergence import convergence
            from grisaille.inspection.pictures.convergence import draw_convergence

            costs = {box.name: box.cost for box in self.problem.boxes}
            went = convergence(self.history, self.problem.sense, costs, self["learned"])
            return draw_convergence(
                self.problem,
                went,
                self.fun,
                self.upper_bound if self.problem.sense == 1 else self.lower_bound,
                self._bound,
                self["best_trial"],
                against=against,
                scale=scale,
                axes=axes,
            )

        return _drawn("plot", path, draw)

    def plot_slices(
        self,
        box: str | BlackBox | None = None,
        output: int | str = 0,
        *,
        axes: Any = None,
        path: Path = None,
    ) -> Figure:
        """How a value depends on one quantity at a time, through the recommended point.

        Without a black box, this is the objective along the variables; it is hatched where, by the
        bands, some constraint is violated. With one, it is an output of the black box along its
        inputs. The line is the prediction, the grey area its band. Answers are paler the farther
        they are from the slice. Of more than 12 quantities, those with the largest effect are
        drawn.

        Args:
            box: A black box, or its name; None for the objective.
            output: Its output, by position or name.
            axes: One Axes for each quantity that is drawn.
            path: Where to save it; None for nowhere.
        """
        name = None if box is None else _name_of("plot_slices", self.problem, box)
        if name is None and not (is_whole(output) and output == 0):
            raise ModelError(f"plot_slices(output={shortened(output)}): pass the black box, too")

        def draw() -> Figure:
            from grisaille.inspection.pictures.slices import draw_box_slices, draw_design_slices

            if name is None:
                return draw_design_slices(self._inspection, axes)
            return draw_box_slices(self._inspection, name, output, axes)

        return _drawn("plot_slices", path, draw)

    def plot_constraints(self, *, axes: Any = None, path: Path = None) -> Figure:
        """The slack of each constraint over the trials, in parts of its size over the trials.

        Constraints are met in the shaded part. The black line is the one that is tightest at the
        recommended point. An equality is one line: its tolerance less what its sides differ by. Of
        more than 8 constraints, the tightest are drawn.

        Args:
            axes: One Axes.
            path: Where to save it; None for nowhere.
        """

        def draw() -> Figure:
            from grisaille.inspection.pictures.constraints import draw_constraints

            return draw_constraints(self.problem, self.history, self["best_trial"], axes)

        return _drawn("plot_constraints", path, draw)

    def plot_calibration(
        self,
        box: str | BlackBox | None = None,
        output: int | str | None = None,
        *,
        axes: Any = None,
        path: Path = None,
    ) -> Figure:
        """Whether bands are right: each answer, and what all others would have predicted of it.

        There are two panels for each output. The left one shows predictions with their bands
        against answers; the right one shows the errors in deviations. Answers outside their bands
        are marked. Of more than 6 outputs, those with the largest errors are drawn.

        Args:
            box: A black box, or its name; None for all of them.
            output: One of its outputs, by position or name; None for all of them.
            axes: Two Axes for each output that is drawn.
            path: Where to save it; None for nowhere.
        """
        name = None if box is None else _name_of("plot_calibration", self.problem, box)

        def draw() -> Figure:
            from grisaille.inspection.pictures.calibration import draw_calibration

            return draw_calibration(self._inspection, name, output, axes)

        return _drawn("plot_calibration", path, draw)

    def plot_sensitivity(self, *, axes: Any = None, path: Path = None) -> Figure:
        """What variables and black boxes do to the objective and to the gap.

        Variables: by how much the predicted objective varies over the range of each, all others
        held at the recommended point, and how much could still be gained along it by the bands.
        Black boxes: by how much the objective varies with their answers, and the part of the gap
        that would close if one were known. Of more than 15, those with the largest effect are
        drawn.

        Args:
            axes: Three Axes: for the variables, the black boxes, and the parts of the gap.
            path: Where to save it; None for nowhere.
        """

        def draw() -> Figure:
            from grisaille.inspection.pictures.sensitivity import draw_sensitivity

            return draw_sensitivity(self._inspection, axes)

        return _drawn("plot_sensitivity", path, draw)

    @property
    def _inspection(self) -> Inspection:
        return Inspection(self.problem, self.history, self.strategy)

    @property
    def _bound(self) -> float | None:
        bound = self.lower_bound if self.problem.sense == 1 else self.upper_bound
        return bound if np.isfinite(bound) else None


def _name_of(who: str, problem: Problem, box: str | BlackBox) -> str:
    """Return the name of a black box.

    Raises:
        ModelError: It is the path of a file instead.
    """
    name = box.name if isinstance(box, BlackBox) else box
    causal = problem.causal
    known = [one.name for one in (problem if causal is None else causal.model).boxes]
    if isinstance(name, str | PurePath) and name not in known and PurePath(name).suffix:
        raise ModelError(
            f"{who}({shortened(box)}): the first argument is a black box; to save the picture, "
            f"write {who}(path={str(name)!r})"
        )
    return name


def _drawn(who: str, path: Path, draw: Callable[[], Figure]) -> Figure:
    """Draw a picture, and save it if there is a path."""
    from grisaille.reporting.figures import check_path, save_figure

    check_path(who, path)
    figure = draw()
    if path is not None:
        save_figure(figure, path, who)
    return figure
