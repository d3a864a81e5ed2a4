"""The experiment's table and figures, beside the paper's own."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.reproduction.experiment import STEPS, Curve, Job, Method, Setting
from grisaille.metrics import Metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Runs = dict[Job, Curve]

_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of the paper.

    Attributes:
        name: Of the figure's file.
        label: Of its axis.
        data: The paper's values.
        values: The curve of one run, (STEPS,).
        first_step: The paper's number of the step after the first evaluation.
        bar: The paper's own final value.
        ratio_bar: The largest ratio to CONFIG that is asked for.
    """

    name: str
    label: str
    data: str
    values: Callable[[Metrics], Array]
    first_step: int
    bar: float
    ratio_bar: float


MEASURES = (
    Measure(
        "constrained_regret",
        "constrained regret",
        "constr_regret.csv",
        lambda m: m.constrained_regret,
        0,
        0.052,
        0.5,
    ),
    Measure(
        "cumulative_positive_regret",
        "cumulative positive regret",
        "cumu_pos_r.csv",
        lambda m: m.cumulative_positive_regret,
        1,
        3.95,
        0.4,
    ),
    Measure(
        "cumulative_violation_1",
        "cumulative violation of constraint 1",
        "cumu_vio_1.csv",
        lambda m: m.cumulative_violations[:, 0],
        1,
        3.75,
        0.4,
    ),
    Measure(
        "cumulative_violation_2",
        "cumulative violation of constraint 2",
        "cumu_vio_2.csv",
        lambda m: m.cumulative_violations[:, 1],
        1,
        5.68,
        0.4,
    ),
)


def paper_curves(measure: Measure) -> dict[str, Array]:
    """The paper's figure: step, and for each method the mean and the ends of its band."""
    text = (files("benchmarks.reproduction") / "data" / measure.data).read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def paired_curves(runs: Runs, setting: Setting, measure: Measure) -> tuple[Array, Array]:
    """Curves of both methods on the instances that both have run, (instances, STEPS) twice."""
    instances = sorted(
        {j.instance for j in runs if j.setting is setting and j.method is Method.OURS}
        & {j.instance for j in runs if j.setting is setting and j.method is Method.CONFIG}
    )
    ours, config = (
        np.array([measure.values(runs[Job(setting, i, m)].metrics) for i in instances])
        for m in (Method.OURS, Method.CONFIG)
    )
    return ours.reshape(-1, STEPS), config.reshape(-1, STEPS)


@dataclass(frozen=True, slots=True)
class Line:
    """Final values of one measure in one setting.

    Attributes:
        instances: How many pairs.
        ours: Mean of ours, and its 95 % confidence interval.
        config: The same for CONFIG.
        ratio: Ratio of the means, and its 95 % confidence interval.
    """

    setting: Setting
    measure: Measure
    instances: int
    ours: tuple[float, float, float]
    config: tuple[float, float, float]
    ratio: tuple[float, float, float]


def summarize(runs: Runs) -> list[Line]:
    """Final values and ratios; intervals by bootstrap over instances, methods kept in pairs."""
    lines = []
    for setting in Setting:
        for measure in MEASURES:
            ours, config = (c[:, -1] for c in paired_curves(runs, setting, measure))
            if not len(ours):
                continue
            generator = np.random.default_rng(0)
            picks = generator.integers(len(ours), size=(_RESAMPLES, len(ours)))
            means = ours[picks].mean(1), config[picks].mean(1)
            with np.errstate(divide="ignore", invalid="ignore"):  # few runs may add up to nothing
                ratio = ours.mean() / config.mean()
                ratios = np.nan_to_num(means[0] / means[1], nan=np.inf)
            lines.append(
                Line(
                    setting,
                    measure,
                    len(ours),
                    _interval(float(ours.mean()), means[0]),
                    _interval(float(config.mean()), means[1]),
                    _interval(float(ratio), ratios),
                )
            )
    return lines


def table(runs: Runs) -> str:
    """The summary as a Markdown table."""
    text = [
        "| setting | pairs | measure at step 20 | ours | CONFIG | ratio | paper: ours | paper: "
        "CONFIG | paper: ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for line in summarize(runs):
        paper = paper_curves(line.measure)
        theirs, rival = paper["ours"][-1], paper["config"][-1]
        values = [_text(v) for v in (line.ours, line.config, line.ratio)]
        text.append(
            f"| {line.setting} | {line.instances} | {line.measure.label} | {values[0]} | "
            f"{values[1]} | {values[2]} | {theirs:.3g} | {rival:.3g} | {theirs / rival:.2f} |"
        )
    return "\n".join(text) + "\n"


def draw(runs: Runs, folder: Path) -> list[Path]:
    """The paper's four figures for the first setting; returns the files."""
    from matplotlib.figure import Figure

    saved = []
    for measure in MEASURES:
        ours, config = paired_curves(runs, Setting.EXACT, measure)
        if not len(ours):
            continue
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        paper = paper_curves(measure)
        steps = np.arange(STEPS, dtype=float) + measure.first_step
        _band(axes, steps, ours, "black", "Grisaille")
        _band(axes, steps, config, "0.55", "CONFIG, run here")
        axes.plot(paper["step"], paper["ours"], "o--", color="black", ms=3.5, mfc="white", lw=0.8)
        axes.plot(paper["step"], paper["config"], "s--", color="0.55", ms=3.5, mfc="white", lw=0.8)
        axes.lines[-2].set_label("the paper's method, its figure")
        axes.lines[-1].set_label("CONFIG, the paper's figure")
        axes.set_xlim(0, STEPS)
        axes.set_ylim(bottom=0)
        axes.set_xticks(range(0, STEPS + 1, 5))
        axes.set_xlabel("step")
        axes.set_ylabel(measure.label)
        axes.set_title(
            f"mean of {len(ours)} instances, 95 % confidence interval of the mean", fontsize=9
        )
        axes.legend(frameon=False, fontsize=8)
        saved.append(folder / f"{measure.name}.png")
        figure.savefig(saved[-1], dpi=150)
    return saved


def _band(axes: Axes, steps: Array, curves: Array, color: str, label: str) -> None:
    mean = curves.mean(0)
    error = 1.96 * curves.std(0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else 0 * mean
    if steps[0] == 1:  # cumulative curves start from nothing
        steps, mean, error = (np.concatenate([[0], v]) for v in (steps, mean, error))
    axes.plot(steps, mean, color=color, lw=2, label=label)
    axes.fill_between(steps, mean - error, mean + error, color=color, alpha=0.2, lw=0)


def _interval(value: float, samples: Array) -> tuple[float, float, float]:
    low, high = np.quantile(samples, [0.025, 0.975], method="nearest")
    return value, float(low), float(high)


def _text(value: tuple[float, float, float]) -> str:
    middle, low, high = (f"{v:.2g}" if abs(v) < 0.1 else f"{v:.2f}" for v in value)
    return middle if low == high else f"{middle} ({low} to {high})"
