"""The picture of convergence: trials, best value and bound; the gap; the violations."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError
from grisaille.inspection.convergence import Convergence
from grisaille.inspection.pictures.panels import (
    ACCENT,
    BAND,
    Panels,
    axes_text,
    given_panels,
    mark_outside,
    padded,
    panels_for,
    passed_axes,
    say,
    with_unit,
)
from grisaille.language.problem import Problem
from grisaille.records import TrialKind

Against = Literal["trial", "cost"]
Scale = Literal["linear", "log"]

# Trials by who chose them: those kinds, their grey and their marker.
_FILLING = (TrialKind.INITIAL, TrialKind.RANDOM, TrialKind.OBSERVING)
_GIVEN = (TrialKind.OWN, TrialKind.DATA)
# Of what lies far from best value and bound, this part may lie outside the axis at either end.
_TAIL = 0.15
# How far a bound may stretch the axis, in parts of what best values and trials take.
_FARTHEST = 1.5


def draw_convergence(
    problem: Problem,
    went: Convergence,
    fun: float,
    most: float,
    final_bound: float | None,
    recommended: int,
    *,
    against: Against = "trial",
    scale: Scale = "linear",
    axes: Any = None,
) -> Figure:
    """Best feasible value and bound over the trials, the gap between them, and the violations.

    Args:
        problem: The problem.
        went: How the study went.
        fun: The value at the recommended point, in the user's sense.
        most: What the optimum is at worst, in the user's sense: with noise, the far end of what the
            bands allow at the recommended point; infinite if that is not feasible.
        final_bound: The final bound, in the user's sense; None without one.
        recommended: Position of the recommended trial; negative without one.
        against: What the trials are drawn against: their numbers, or what all answers up to
            then cost.
        scale: "log" for how far values are from the final bound, or else from the best value.
        axes: Where to draw: one Axes for the objective alone, or as many as there are panels.
    """
    drawing = _Drawing(problem, went, fun, most, final_bound, recommended, against, scale)
    names = drawing.panel_names
    if axes is None:
        heights = {"objective": 3.0, "gap": 1.2, "violation": 1.2}
        panels = panels_for(
            "plot",
            None,
            len(names),
            what_for="",
            size=(7.2, 2.6 + 1.2 * len(names)),
            sharex=True,
            height_ratios=[heights[name] for name in names],
        )
    else:
        passed = passed_axes("plot", axes)
        if len(passed) not in (1, len(names)):
            each = f", or {axes_text(len(names))} for {' and '.join(names)}"
            several = each if len(names) > 1 else ""
            raise ModelError(
                f"plot(axes=...): 1 Axes is needed for the objective{several}; {len(passed)} passed"
            )
        panels = given_panels(passed)
    for name, panel in zip(names, panels.axes, strict=False):
        drawing.draw(name, panel)
    drawing.label_trials(panels)
    panels.add_legend()
    return panels.figure


class _Drawing:
    """One picture of convergence, panel by panel."""

    def __init__(
        self,
        problem: Problem,
        went: Convergence,
        fun: float,
        most: float,
        final_bound: float | None,
        recommended: int,
        against: Against,
        scale: Scale,
    ) -> None:
        self.problem, self.went, self.fun = problem, went, fun
        self.final_bound, self.recommended = final_bound, recommended
        self.against, self.scale = against, scale
        self.x = went.numbers if against == "trial" else went.cost
        # With noise, the best raw answer is only the luckiest one.
        self.is_noisy = not problem.is_exact
        self.best = np.full(len(self.x), fun) if self.is_noisy else went.best
        self.gap = self._worse_by(most if self.is_noisy else self.best, went.carried_bound)
        self.final_gap = self.gap[-1:]
        if final_bound is not None and np.isfinite(most):
            self.final_gap = self._worse_by(np.array([most]), final_bound)

    @property
    def panel_names(self) -> list[str]:
        """The panels, from top to bottom."""
        has_gap = self.scale == "linear" and bool(np.isfinite(self.gap).any())
        return [
            "objective",
            *(["gap"] if has_gap else []),
            *(["violation"] if self.problem.constraints else []),
        ]

    def draw(self, name: str, axes: Axes) -> None:
        """Draw one panel."""
        if not len(self.x):
            say(axes, "no trial is complete")
        elif name == "gap":
            self._draw_gap(axes)
        elif name == "violation":
            self._draw_violations(axes)
        elif self.scale == "log":
            self._draw_distances(axes)
        else:
            self._draw_objective(axes)

    def label_trials(self, panels: Panels) -> None:
        """Say what the horizontal axis is."""
        for axes in panels.axes[-1:] if panels.is_own else panels.axes:
            axes.set_xlabel("trial" if self.against == "trial" else "cost of all answers so far")
            if len(self.x) and self.against == "trial":
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    def _worse_by(self, values: Any, reference: Any) -> Array:
        """How much worse values are than others, by the sense of the problem."""
        return np.asarray(self.problem.sense * (values - reference), dtype=float)

    @property
    def _ends(self) -> Array:
        """The positions, and two more between which the final value and bound are shown."""
        step = (self.x[-1] - self.x[0]) / max(len(self.x) - 1, 1) or 1.0
        return np.append(self.x, self.x[-1] + step * np.array([0.5, 1.0]))

    def _draw_objective(self, axes: Axes) -> None:
        ends, last = self._ends, self.went.carried_bound[-1]
        final = last if self.final_bound is None else self.final_bound
        bound = np.append(self.went.carried_bound, [final, final])
        value = self.fun if np.isfinite(self.best[-1]) else np.nan
        best = np.append(self.best, [value, value])
        low, high = _limits(best, bound, self.went.objective)
        axes.set_ylim(low, high)
        both = np.isfinite(best) & np.isfinite(bound) & (self._worse_by(best, bound) >= 0)
        if both.any():
            axes.fill_between(
                ends, bound, best, where=both, step="post", color="0.92", lw=0, label="gap"
            )
        self._draw_trials(axes, self.went.objective)
        name = "recommended (mean)" if self.is_noisy else "best feasible"
        axes.step(ends, best, where="post", color="black", lw=1.8, label=name)
        if np.isfinite(bound).any():
            axes.step(ends, bound, "--", where="post", color="0.35", lw=1.4, label="bound")
        sense = "minimize" if self.problem.sense == 1 else "maximize"
        axes.set_ylabel(f"{self._objective} ({sense})")

    def _draw_distances(self, axes: Axes) -> None:
        """How far trials, best value and gap are from the final bound, or from the best value."""
        worst = self._worse_by(self.went.objective[self.went.feasible], self.fun).max(initial=0.0)
        # A bound that is farther away than all trials would make them look alike.
        bounded = self.final_bound is not None and bool(self.final_gap <= worst)
        reference = self.final_bound if bounded else self.fun
        distance = self._worse_by(self.went.objective, reference)
        best = self._worse_by(self.best, reference)
        shown = [best, distance[self.went.feasible], *([self.gap] if bounded else [])]
        _limit_logarithm(axes, np.concatenate(shown))
        self._draw_trials(axes, np.where(distance > 0, distance, -np.inf))
        name = "recommended (mean)" if self.is_noisy else "best feasible"
        axes.step(self.x, _above_zero(best), where="post", color="black", lw=1.8, label=name)
        if bounded:
            axes.step(
                self.x,
                _above_zero(self.gap),
                "--",
                where="post",
                color="0.35",
                lw=1.4,
                label="gap known then",
            )
        what = "final bound" if bounded else "best value"
        axes.set_ylabel(f"{self._objective}:\ndistance to the {what}")

    @property
    def _objective(self) -> str:
        return with_unit(self.problem.objective_name or "objective", self.problem.objective_unit)

    def _draw_trials(self, axes: Axes, values: Array) -> None:
        """A marker for each trial: its shape says whether it is feasible, its grey who chose it."""
        kinds = self.went.kinds
        filling = np.array([kind in _FILLING for kind in kinds], dtype=bool)
        given = np.array([kind in _GIVEN for kind in kinds], dtype=bool)
        groups = (
            ("initial or random", filling, "o", "0.75"),
            ("own point or data", given, "s", "0.9"),
            ("chosen", ~filling & ~given, "o", "0.45"),
        )
        low, high = axes.get_ylim()
        inside: Flags = (values >= low) & (values <= high)
        feasible = self.went.feasible
        for label, group, marker, grey in groups:
            own = group & inside & feasible
            if own.any():
                axes.plot(
                    self.x[own],
                    values[own],
                    marker,
                    ms=5,
                    color=grey,
                    markeredgecolor="0.2",
                    markeredgewidth=0.6,
                    label=label,
                    clip_on=False,
                    zorder=3,
                )
        crossed = inside & ~feasible
        if crossed.any():
            self._cross(axes, self.x[crossed], values[crossed])
        if self.recommended >= 0:
            there = inside[self.recommended]
            axes.plot(
                self.x[[self.recommended]] if there else [],
                values[[self.recommended]] if there else [],
                "D",
                ms=8,
                markerfacecolor="none",
                markeredgecolor=ACCENT,
                markeredgewidth=1.6,
                label="recommended trial",
                clip_on=False,
                zorder=5,
            )
        mark_outside(axes, self.x, values, feasible)

    @staticmethod
    def _cross(axes: Axes, x: Array, y: Array) -> None:
        axes.plot(
            x,
            y,
            "x",
            ms=5,
            color="0.35",
            markeredgewidth=1.2,
            label="infeasible",
            clip_on=False,
            zorder=3,
        )

    def _draw_gap(self, axes: Axes) -> None:
        """The gap on a logarithmic axis, so that a small one can still be read off."""
        ends, gap = self._ends, np.concatenate([self.gap, self.final_gap, self.final_gap])
        _limit_logarithm(axes, gap)
        axes.step(ends, _above_zero(gap), where="post", color="black", lw=1.4)
        made = np.isfinite(self.went.bound) & (self.gap > 0)
        for own, face, label in (
            (made & self.went.certified, "black", "bound certified"),
            (made & ~self.went.certified, "white", "bound estimated"),
        ):
            if own.any():
                axes.plot(
                    self.x[own],
                    self.gap[own],
                    "s",
                    ms=4,
                    markerfacecolor=face,
                    markeredgecolor="black",
                    label=label,
                )
        closed = np.where(gap <= 0, -np.inf, gap)
        mark_outside(axes, ends, closed, np.ones(len(ends), dtype=bool))
        axes.set_ylabel("gap")

    def _draw_violations(self, axes: Axes) -> None:
        violation, infeasible = self.went.violation, ~self.went.feasible
        if not infeasible.any():
            say(axes, "no trial violates a constraint")
        else:
            _limit_logarithm(axes, violation)
            self._cross(axes, self.x[infeasible], violation[infeasible])
        axes.set_ylabel("violation")


def _above_zero(values: Array) -> Array:
    """Values for a logarithmic axis: NaN where there is no logarithm."""
    return np.where(values > 0, values, np.nan)


def _limits(best: Array, bound: Array, trials: Array) -> tuple[float, float]:
    """Limits of the axis of the objective: the last values for sure, and most of the others.

    A bound that is far away would leave no room for the trials: it may lie outside.
    """
    core = np.concatenate([best[-1:], *(_most(values) for values in (best, trials))])
    core = core[np.isfinite(core)]
    if not len(core):
        return padded(_most(bound))
    low, high = core.min(), core.max()
    room = _FARTHEST * (high - low) or np.inf
    bounds = np.append(_most(bound), bound[-1:])
    return padded(np.append(core, np.clip(bounds, low - room, high + room)), 0.12)


def _most(values: Array) -> Array:
    """Two values between which most of the others lie; none if there are none."""
    finite = values[np.isfinite(values)]
    return np.quantile(finite, [_TAIL, 1 - _TAIL]) if len(finite) else finite


def _limit_logarithm(axes: Axes, values: Array) -> None:
    """A logarithmic axis over whole decades for the values above zero."""
    axes.set_yscale("log")
    shown = values[np.isfinite(values) & (values > 0)]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.1, 1.0)
    axes.set_ylim(10 ** np.floor(np.log10(low) - 0.1), 10 ** np.ceil(np.log10(high) + 0.1))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color=BAND, lw=0.6)
