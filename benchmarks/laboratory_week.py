"""A week in a simulated laboratory, through CSV files and the command line only.

    python -m benchmarks.laboratory_week [--seeds N] [--processes]

People get sheets of questions, set what their equipment can set, and type what came out. Ten
batches are older than the study. Two numbers are typed wrong, one experiment fails, and half-way
the customer wants a limit on the colour, which nobody has measured so far. The week is compared
with a clean one of as many questions, and every number that was typed is looked up afterwards.
Prints the transcript of the first week. A seed is that of the noise at the bench; fewer than ten
write no result.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas
from scipy.optimize import minimize

import grisaille as gs
from benchmarks.results_folder import write_result
from grisaille.language.values import read_sheet
from grisaille.views.cli import main as grisaille

QUESTIONS = 30
PER_SHEET = 2  # three sheets a day
# At so many old points a new black box is asked first.
OLD_POINTS = 6
SEEDS = 10
STUDY = "spring"
# What the equipment can set.
STEPS = {"celsius": 0.5, "hours": 0.05}
# Batches of last year: celsius, hours.
OLD = [
    (30, 1), (30, 2), (30, 3.5), (40, 1.5), (40, 3), (50, 1), (50, 2.5), (55, 1.5), (60, 1), (60, 3)
]  # fmt: skip

RECIPE = """\
import grisaille as gs

celsius = gs.Variable("celsius", lower=20, upper=80)
hours = gs.Variable("hours", lower=0.5, upper=4)
synthesis = gs.BlackBox(None, name="synthesis", outputs=["product", "acid"], noise=0.003)

batch = synthesis(celsius, hours)
loss = 4 + 20 * batch["acid"] ** 2  # what purification costs
problem = gs.Problem(
    maximize=100 * batch["product"] - loss - 3 * hours,
    subject_to=[batch["acid"] <= 0.5],
)
"""
COLOURED = RECIPE.replace(
    "\nbatch = ", 'colouring = gs.BlackBox(None, name="colouring", noise=0.1)\n\nbatch = '
).replace(
    'subject_to=[batch["acid"] <= 0.5],',
    'subject_to=[batch["acid"] <= 0.5, colouring(celsius, hours) <= 30],',
)
QUICK = "strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))\n"


def synthesis(celsius: float, hours: float) -> tuple[float, float]:
    rate = np.exp(0.05 * (celsius - 50))
    return 1 - np.exp(-rate * hours), 0.05 * rate * hours


def colouring(celsius: float, hours: float) -> float:
    return 10.5 + 0.3 * (celsius - 20) + 2 * hours


def profit(x: Any) -> float:
    product, acid = synthesis(*x)
    return float(100 * product - (4 + 20 * acid**2) - 3 * x[1])


def best_profit() -> float:
    """The best profit that the true functions allow, with the limit on the colour."""
    limits = [
        {"type": "ineq", "fun": lambda x: 30 - colouring(*x)},
        {"type": "ineq", "fun": lambda x: 0.5 - synthesis(*x)[1]},
    ]
    starts = [(c, h) for c in (30, 50, 70) for h in (1, 2, 3)]
    bounds = [(20, 80), (0.5, 4)]
    found = [
        minimize(lambda x: -profit(x), s, bounds=bounds, constraints=limits, method="SLSQP")
        for s in starts
    ]
    return max(-f.fun for f in found if f.success)


class Bench:
    """The people at the bench: they measure with some noise, and round what they read."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def measure(self, box: str, inputs: list[float]) -> dict[str, float]:
        """What they read off, by column of the sheet."""
        noise = self._random.standard_normal(2)
        if box == "synthesis":
            product, acid = synthesis(*inputs)
            return {
                "product": round(float(product + 0.002 * noise[0]), 3),
                "acid": round(float(acid + 0.002 * noise[1]), 3),
            }
        return {box: round(float(colouring(*inputs) + 0.05 * noise[0]), 1)}


@dataclass
class Terminal:
    """Runs the command line in a folder, and keeps what was typed and printed."""

    folder: Path
    in_process: bool
    lines: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Write something between the commands."""
        self.lines.append(f"\n# {text}\n")

    def show(self, name: str) -> None:
        """Show a file."""
        self.lines.append(f"$ cat {name}\n{(self.folder / name).read_text().rstrip()}")

    def run(self, *words: str, code: int = 0) -> tuple[int, str]:
        """Run a command that may end with a code besides 0; returns its code and what it said."""
        ended, out, err = (self._here if self.in_process else self._there)(list(words))
        said = [line for line in err.splitlines() if not line.startswith("grisaille: running ")]
        printed = "\n".join(part for part in (out.rstrip(), "\n".join(said)) if part)
        shown = " ".join(w if re.fullmatch(r"[\w./=\[\],-]+", w) else f"'{w}'" for w in words)
        self.lines.append(f"$ grisaille {shown}\n{printed}")
        if ended not in (0, code):
            raise RuntimeError(f"grisaille {shown} ended with {ended}:\n{printed}")
        return ended, printed

    def _there(self, words: list[str]) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "grisaille.views.cli", *words]
        environment = {**os.environ, "XDG_CONFIG_HOME": str(self.folder / "config")}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def _here(self, words: list[str]) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            patch.dict(os.environ, {"XDG_CONFIG_HOME": str(self.folder / "config")}),
        ):
            return grisaille(words), out.getvalue(), err.getvalue()


@dataclass
class Week:
    """One week: who asks, who measures, and the notebook with what was really read off.

    Args:
        terminal: Where commands are typed.
        seed: Of the noise at the bench.
        clean: Whether nothing goes wrong, nothing is rounded, and the limit on the colour is known
            from the start.
        questions: How many questions there are.
        extra: Lines that are added to the recipe.
    """

    terminal: Terminal
    seed: int
    clean: bool
    questions: int = QUESTIONS
    extra: str = ""
    asked: int = 0
    notebook: dict[str, list[float]] = field(default_factory=dict)
    mistyped: dict[str, list[float]] = field(default_factory=dict)
    corrected: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    changed: bool = False
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._bench = Bench(self.seed)

    def run(self) -> None:
        """Play the week."""
        self._begin()
        day = 0
        while self.asked < self.questions:
            day += 1
            self.terminal.say(f"Sheet {day}")
            if not self.clean and not self.changed and self.asked >= self.questions / 2:
                self._want_colour()
            if not self._sheet():
                break
        self.terminal.say("The end of the week")
        self.terminal.run("status")
        self.terminal.run("result", STUDY)
        self.terminal.run("answers", STUDY, "--csv", "answers.csv")

    def _begin(self) -> None:
        folder = self.terminal.folder
        (folder / "recipe.py").write_text((COLOURED if self.clean else RECIPE) + self.extra)
        trials = self.questions // 2 if self.clean else self.questions
        self.terminal.run("create", "recipe.py", "--study", STUDY, "--trials", str(trials))
        bench = Bench(1000)  # the same old batches in every week
        batches = [bench.measure("synthesis", list(point)) for point in OLD]
        old = pandas.DataFrame(OLD, columns=["celsius", "hours"]).join(pandas.DataFrame(batches))
        old.to_csv(folder / "old_batches.csv", index=False)
        self.terminal.run("observe", STUDY, "synthesis", "old_batches.csv")

    def _want_colour(self) -> None:
        """Write the new black box and its limit into the recipe."""
        (self.terminal.folder / "recipe.py").write_text(COLOURED + self.extra)
        self.changed = True
        # From now on, a trial takes two questions.
        left = (self.questions - self.asked - OLD_POINTS) // 2
        trials = self.asked - len(self.failed) + left
        self.changes = ["--allow-changes", "--trials", str(trials)]
        self.terminal.say('In recipe.py: colouring(celsius, hours) <= 30, a black box "colouring"')

    def _sheet(self) -> bool:
        """Ask, fill the sheet in, tell it, and mend what the remarks are about.

        Returns:
            Whether there was something to ask.
        """
        path = self.terminal.folder / "sheet.csv"
        n = min(PER_SHEET, self.questions - self.asked)
        changes, self.changes = self.changes, []
        sheet_of = ["--csv", "sheet.csv"]
        if self.terminal.run("ask", STUDY, *sheet_of, "-n", str(n), *changes, code=1)[0]:
            return False
        sheet = read_sheet(path)[0]
        self.asked += len(sheet)
        for line in sheet.index:
            self._fill(sheet, line)
        sheet.to_csv(path, index=False)
        self.terminal.show("sheet.csv")
        _, printed = self.terminal.run("tell", STUDY, *sheet_of)
        for name in dict.fromkeys(re.findall(rf"grisaille correct {STUDY} (\S+) VALUE", printed)):
            if name in self.mistyped and name not in self.corrected:
                right = str(self.notebook[name])
                self.terminal.run("correct", STUDY, name, right)
                self.corrected.append(name)
        return True

    def _fill(self, sheet: pandas.DataFrame, line: int) -> None:
        """Do what a line asks for, and type what came out."""
        name, box = sheet.loc[line, "id"].removeprefix("query "), sheet.loc[line, "box"]
        for column, step in STEPS.items():
            if not self.clean:
                steps = round(float(sheet.loc[line, column]) / step)
                sheet.loc[line, column] = f"{steps * step:.12g}"
        if not self.clean and not self.failed and box == "synthesis" and self.asked > PER_SHEET:
            sheet.loc[line, "failed"] = "the pump stopped"
            self.failed.append(name)
            return
        read = self._bench.measure(box, [float(sheet.loc[line, column]) for column in STEPS])
        self.notebook[name] = list(read.values())
        typed = self._typed(box, read)
        if typed != read:
            self.mistyped[name] = list(typed.values())
        for column, value in typed.items():
            sheet.loc[line, column] = f"{value:g}"

    def _typed(self, box: str, read: Mapping[str, float]) -> dict[str, float]:
        """What is typed: a decimal point gets lost once, and once two digits change places."""
        typed = dict(read)
        if self.clean:
            return typed
        if box == "synthesis" and self.failed and not self.mistyped:
            typed["product"] = round(10 * read["product"], 2)
        elif box == "synthesis" and self.changed and len(self.mistyped) == 1:
            first, second, *rest = f"{read['acid']:.3f}".removeprefix("0.")
            if first != second:
                typed["acid"] = float(f"0.{second}{first}{''.join(rest)}")
        return typed


def check_nothing_is_lost(week: Week) -> dict[str, int]:
    """Look every number up that was typed: right ones among the answers, all in the log."""
    folder = week.terminal.folder
    answers = pandas.read_csv(folder / "answers.csv")
    answers.index = pandas.Index([str(name).split(" ")[1] for name in answers["id"]])
    for name, values in week.notebook.items():
        row = answers.loc[name]
        outputs = ["product", "acid"] if row["box"] == "synthesis" else [row["box"]]
        assert [float(row[column]) for column in outputs] == values, name
    recipe: dict[str, Any] = {}
    exec((folder / "recipe.py").read_text(), recipe)
    with gs.Study(
        recipe["problem"],
        name=STUDY,
        storage=f"sqlite:///{folder}/study.db",
        strategy=recipe.get("strategy"),
    ) as study:
        events = study.events()
    told = {e.data["query"]: e.data["outputs"] for e in events if str(e.kind) == "told"}
    for name, values in {**week.notebook, **week.mistyped}.items():
        assert told[name] == values, name
    failures = [e for e in events if str(e.kind) == "failed"]
    assert [e.data["query"] for e in failures] == week.failed
    assert sorted(week.corrected) == sorted(week.mistyped)
    kept = int((answers["source"] == "elsewhere").sum())
    assert kept == len(OLD)
    return {"typed": len(told), "corrected": len(week.corrected), "of last year": kept}


def found(week: Week) -> dict[str, Any]:
    """What `grisaille result` said at the end, and what the point is really worth."""
    text = next(
        part for part in reversed(week.terminal.lines) if part.startswith("$ grisaille res")
    )
    low, high = map(float, re.search(r"optimum in\s+\[(\S+), (\S+)\]", text).groups())
    x = [
        float(re.search(rf"^{name}\s+(\S+)", text, re.M).group(1)) for name in ("celsius", "hours")
    ]
    return {
        "value": float(re.search(r"maximum\s+(\S+)", text).group(1)),
        "interval": [low, high],
        "gap": high - low,
        "x": x,
        "true value": profit(x),
        "true colour": float(colouring(*x)),
        "questions": week.asked,
    }


def play(folder: Path, **options: Any) -> Week:
    """Play one week in an empty folder."""
    week = Week(Terminal(folder, options.pop("in_process", True)), **options)
    week.run()
    return week


def compare(**options: Any) -> tuple[dict[str, Any], Week]:
    """Play the week and a clean one; returns what both found, and the week."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        week = play(Path(one), clean=False, **options)
        content: dict[str, Any] = {"week": found(week), "kept": check_nothing_is_lost(week)}
        clean = play(Path(other), clean=True, **options)
        check_nothing_is_lost(clean)
        content["clean week"] = found(clean)
    difference = abs(content["week"]["value"] - content["clean week"]["value"])
    content["difference"] = difference
    content["within the gap of the clean week"] = difference <= content["clean week"]["gap"]
    return content, week


def main(seeds: int, in_process: bool) -> None:
    runs = {}
    for seed in range(seeds):
        runs[seed], week = compare(seed=seed, in_process=in_process)
        if seed == 0:
            print("\n".join(week.terminal.lines))
        print(seed, runs[seed], flush=True)
    within = sum(run["within the gap of the clean week"] for run in runs.values())
    print(f"{within} of {seeds} weeks end within the gap of the clean one; {best_profit():.6f} is")
    print("the best that the true functions allow")
    if seeds >= SEEDS:
        content = {"true optimum": best_profit(), "within the gap": within, "seeds": runs}
        write_result("laboratory_week", content)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    parser.add_argument(
        "--processes", action="store_true", help="a process per command: slower by their imports"
    )
    options = parser.parse_args()
    main(options.seeds, not options.processes)
