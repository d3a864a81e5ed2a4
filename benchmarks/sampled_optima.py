"""Would the optima of sampled functions give a better bound than the rule of relevant regions?

Each history of `benchmarks.honest_bounds --keep FOLDER` gives a second bound: the 5 % quantile of
the optima of 100 worlds, in each of which all black boxes are drawn together. Draws know that
errors of a chain do not all point the same way.

    python -m benchmarks.sampled_optima FOLDER [--only chain] [--most 60]
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings
from pathlib import Path

import numpy as np
import torch

from benchmarks.honest_bounds import CLOSED, KINDS, WRONG, Case, share
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.simultaneous import unit_points
from grisaille.belief.worlds import Worlds
from grisaille.records import Situation
from grisaille.strategies.auxiliary_problem import solve_auxiliary

QUANTILES = (0.05, 0.02)


def optima(knowledge: Knowledge) -> np.ndarray:
    """Minimize the objective in each of 100 worlds."""
    bands = knowledge._simultaneous()
    degrees = {name: float(d.min()) for name, d in bands.degrees.items()}
    worlds = Worlds(knowledge.plausible, degrees, bands.factors, seed=0)
    n, count = knowledge.program.size, worlds.count
    lower, upper = torch.tensor(knowledge.program.lower), torch.tensor(knowledge.program.upper)
    trials = torch.tensor(np.array([t.x for t in knowledge.history]))
    points = torch.cat([lower + (upper - lower) * unit_points(n, 512), trials])
    values, place = worlds.run(points.expand(count, -1, -1))[0].min(1)
    best, generator = points[place], torch.Generator().manual_seed(0)
    for reach in np.geomspace(0.1, 1e-3, 12):
        moves = torch.randn((count, 32, n), generator=generator, dtype=torch.float64)
        near = (best.unsqueeze(1) + reach * (upper - lower) * moves).clamp(lower, upper)
        found, place = worlds.run(near)[0].min(1)
        better = found < values
        values = torch.where(better, found, values)
        best = torch.where(better.unsqueeze(1), near[torch.arange(count), place], best)
    return values.numpy()


def run_one(file: Path) -> Row:
    """Compare both bounds after one history."""
    label, seed = file.stem.rsplit("-", 1)
    kind = next(kind for kind in KINDS if kind.label == label)
    case, history = Case(kind, int(seed)), pickle.loads(file.read_bytes())
    knowledge = Knowledge(Situation(case.problem, history, int(seed), remaining=0))
    best = knowledge.best
    assert best is not None
    solution = solve_auxiliary(knowledge.confident, knowledge, None)
    row: Row = {"kind": label, "group": kind.group, "seed": seed}
    started = time.process_time()
    drawn = optima(knowledge)
    row["seconds"] = round(time.process_time() - started, 2)
    bounds = {"rule": min(solution.value, best)}
    bounds |= {f"draws {q:g}": min(float(np.quantile(drawn, q)), best) for q in QUANTILES}
    for name, bound in bounds.items():
        row[f"{name} wrong"] = bound > case.optimum + WRONG * case.spread
        row[f"{name} gap"] = (best - bound) / case.spread
    return row


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sampled_optima", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=60)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows, counts = [], dict[str, int]()
    groups = ("chain", "rough", "smooth")
    for file in sorted(
        options.folder.glob("*.pickle"), key=lambda f: int(f.stem.rsplit("-", 1)[1])
    ):
        group = file.stem.split(" ")[0]
        if group in groups and options.only in file.stem and counts.get(group, 0) < options.most:
            counts[group] = counts.get(group, 0) + 1
            rows.append(run_one(file))
    summary: dict[str, object] = {}
    for group in counts:
        some = [row for row in rows if row["group"] == group]
        for name in ("rule", *(f"draws {q:g}" for q in QUANTILES)):
            gaps = [row[f"{name} gap"] for row in some]
            summary[f"{group}, {name}"] = {
                "wrong": share([row[f"{name} wrong"] for row in some]),
                "median gap": float(np.median(gaps)),
                "upper quartile": float(np.quantile(gaps, 0.75)),
                "closed": sum(gap < CLOSED for gap in gaps),
            }
        summary[f"{group}, seconds of draws"] = float(np.median([r["seconds"] for r in some]))
    for name, value in summary.items():
        print(f"{name}: {value}")
    write_rows("sampled_optima", rows)
    write_result("sampled_optima", summary)


if __name__ == "__main__":
    main()
