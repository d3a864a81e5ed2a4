"""Make the stored study that `test_study_stored` opens.

    python -m tests.study.stored.make_study NAME

Run with the version of Grisaille whose files must stay readable; the result is committed as
NAME.db, and what that version derived from it as NAME.json.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import grisaille as gs
from grisaille.views.cli import main

HERE = Path(__file__).parent
QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def plant() -> gs.Problem:
    """Two black boxes with costs in a chain; the second one fails in a corner."""
    flow = gs.Variable("flow", 2, lower=-1, upper=1)
    heat = gs.Variable("heat", lower=0, upper=2)

    def mix(x: Any) -> Any:
        return np.array([x[0] + 0.5 * x[1], x[1] ** 2])

    def react(y: Any, heat: float) -> float:
        if y[0] + y[1] > 0.9:
            raise ValueError("no steady state")
        return float((y[0] - 0.2) ** 2 + y[1] + 0.3 * (heat - 1) ** 2)

    first = gs.BlackBox(mix, name="mix", outputs=["acid", "salt"], noise=0, cost=1.0)
    second = gs.BlackBox(react, name="react", noise=0, cost=3.0)
    mixed = first(flow)
    return gs.Problem(maximize=2 - second(mixed, heat), subject_to=[mixed[0] >= -0.5])


def open_study(storage: str) -> gs.Study:
    """The study as a user opens it."""
    return gs.Study(plant(), name="plant", storage=storage, strategy=QUICK, seed=3)


def make(name: str) -> None:
    """Work on a study as a laboratory does, and leave in the middle of it."""
    file = HERE / f"{name}.db"
    with open_study(f"sqlite:///{file}") as study:
        study.observe("react", [[0.1, 0.2, 1.0], [0.5, 0.1, 0.5]], [[0.21], [0.265]])
        study.observe("mix", [[0.5, 0.5]], [[0.75, 0.25]])
        study.run(9, progress=False)
        first, second, third = study.ask(3, trials=14)
        study.tell(first, [0.3, 0.1], seconds=2.5)
        study.fail(second, "the pump was off")
        study.fail(second, "the pump was off again")
        assert [query.id for query in study.pending] == [third.id]
        assert study.failures
        result = study.result()
        derived = {
            "fun": result.fun,
            "x": result.x.tolist(),
            "objectives": [trial.objective for trial in study.history],
            "cost": study.cost,
            "pending": [query.id for query in study.pending],
            "failures": [[f.box, f.reason, f.trial] for f in study.failures],
            "table": result.to_dataframe().to_csv(),
        }
    derived |= written(f"sqlite:///{file}")
    (HERE / f"{name}.json").write_text(json.dumps(derived, indent=1) + "\n")


def written(storage: str) -> dict[str, Any]:
    """What the command line writes about the study."""

    def output(*arguments: str) -> str:
        with redirect_stdout(StringIO()) as text:
            assert main([*arguments, "--storage", storage]) == 0
        return text.getvalue()

    show = json.loads(output("show", "plant", "--json"))
    del show["storage"]  # names a folder
    return {
        "csv": output("export", "plant"),
        "json": output("export", "plant", "--format", "json"),
        "show": json.dumps(show),
    }


if __name__ == "__main__":
    # What is stored names no machine.
    with (
        mock.patch("socket.gethostname", return_value="laboratory"),
        mock.patch("grisaille.study.log.heartbeat.this_host", return_value="laboratory"),
    ):
        make(sys.argv[1])
