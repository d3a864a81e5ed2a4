"""Random operations on chained studies with loops: does each end in a record or in a sentence?

    python -m benchmarks.studies_loops [OPERATIONS]

Six problems with loops, three seeds each. Each operation is drawn at random: ask, tell (also at
other inputs than those that were asked for), correct, retract, fail, release, enqueue, observe,
or open the study again. A `GrisailleError` is a sentence. Any other exception is raw. After each
operation of the kinds that record an answer, the answer has to be there.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import grisaille as gs
from benchmarks.results_folder import write_result, write_rows

SEEDS = 3
OPERATIONS = 1602


def one_box() -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    u = gs.Unknown("u", lower=0, upper=2)
    g = gs.BlackBox(lambda x, u: 0.5 * u + 0.3 * x + 0.1, name="g", noise=0)
    return gs.Problem(minimize=(x - 0.3) ** 2 + u, equations=[u == g(x, u)])


def noisy() -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    u = gs.Unknown("u", lower=0, upper=2)
    g = gs.BlackBox(lambda x, u: 0.4 * np.cos(u) + x / 2, name="g", noise=0.01)
    return gs.Problem(minimize=x + u, equations=[u == g(x, u)], feasibility_tol=0.02)


def two_boxes() -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    u = gs.Unknown("u", lower=0, upper=2)
    v = gs.Unknown("v", lower=0, upper=2)
    f = gs.BlackBox(lambda x, v: 0.5 * v + x / 2, name="f", noise=0)
    g = gs.BlackBox(lambda x, u: 0.3 + 0.4 * u, name="g", noise=0)
    return gs.Problem(minimize=u + v - x, equations=[u == f(x, v), v == g(x, u)])


def chain_in_loop() -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    u = gs.Unknown("u", lower=0, upper=2)
    f = gs.BlackBox(lambda x, u: x + u**2 / 4, name="f", noise=0)
    g = gs.BlackBox(lambda y: 0.2 + 0.3 * np.sin(y), name="g", noise=0)
    y = f(x, u)
    return gs.Problem(minimize=(u - 0.4) ** 2 + y, equations=[u == g(y)], subject_to=[y <= 1.2])


def several_streams() -> gs.Problem:
    x = gs.Variable("x", shape=2, lower=0, upper=1)
    u = gs.Unknown("u", shape=2, lower=-1, upper=2)
    g = gs.BlackBox(lambda x, u: 0.4 * u[::-1] + x / 3, name="g", outputs=2, noise=0)
    return gs.Problem(minimize=u[0] - u[1] + x[0], equations=[u == g(x, u)])


def solved_afterwards() -> gs.Problem:
    x = gs.Variable("x", lower=0.5, upper=2)
    u = gs.Unknown("u", lower=0, upper=3)
    v = gs.Unknown("v", lower=0, upper=3)
    g = gs.BlackBox(lambda x, u: x / 2 + u / 4, name="g", noise=0)
    return gs.Problem(minimize=(v - 1) ** 2 + x, equations=[u == g(x, u), v**3 + v == u])


PROBLEMS = (one_box, noisy, two_boxes, chain_in_loop, several_streams, solved_afterwards)


class _Attempt:
    """One study that random operations are done to."""

    def __init__(self, make: Callable[[], gs.Problem], seed: int, folder: Path) -> None:
        self.make = make
        self.generator = np.random.default_rng(seed)
        self.open_again = partial(
            gs.Study,
            name=f"{make.__name__}{seed}",
            storage=f"sqlite:///{folder}/study.db",
            strategy=gs.RandomSearch(),
            evaluation="chained",
            seed=seed,
        )
        self.study = self.open_again(make())
        self.asked: dict[str, gs.Query] = {}

    def value(self, query: gs.Query) -> Any:
        """What the black box returns, usually; sometimes an answer that is far off."""
        box = next(b for b in self.study.problem.boxes if b.name == query.box)
        answer = box.evaluate(query.inputs)
        return answer * self.generator.choice([1, 1, 1, 1, 1.5, -2])

    def inputs(self, query: gs.Query) -> Any:
        """Inputs near those that were asked for, or anywhere."""
        near = query.inputs + self.generator.choice([1e-9, 1e-3, 0.3]) * self.generator.normal(
            size=query.inputs.size
        )
        return near if self.generator.random() < 0.5 else {self.first_name(query): near[0]}

    def first_name(self, query: gs.Query) -> str:
        return str(self.study.state.settings["input_names"][query.box][0])

    def one_asked(self) -> gs.Query:
        if not self.asked or self.generator.random() < 0.1:
            for query in self.study.ask(int(self.generator.integers(1, 4))):
                self.asked[query.id] = query
        return self.asked[str(self.generator.choice(list(self.asked)))]

    def one_answered(self) -> str:
        names = [*self.study.answers()["id"], "7-1"]
        return str(self.generator.choice(names))

    # --- the operations ---
    def tell(self) -> None:
        query = self.one_asked()
        self.asked.pop(query.id)
        self.tell_to(query, None)

    def tell_elsewhere(self) -> None:
        query = self.one_asked()
        self.asked.pop(query.id)
        self.tell_to(query, self.inputs(query))

    def tell_to(self, query: gs.Query, inputs: Any) -> None:
        self.study.tell(query, self.value(query), inputs=inputs)
        assert query.id in set(self.study.answers()["id"]), f"{query.id} is not recorded"

    def correct(self) -> None:
        name = self.one_answered()
        seen = self.study.state.answer(name)
        value = 0.5 if seen is None else seen.outputs * 1.1 + self.generator.normal(0, 0.2)
        self.study.correct(name, value)

    def correct_elsewhere(self) -> None:
        name = self.one_answered()
        seen = self.study.state.answer(name)
        assert seen is not None or name == "7-1"
        if seen is not None:
            self.study.correct(name, seen.outputs, inputs=seen.inputs + 0.05)

    def retract(self) -> None:
        self.study.retract(self.one_answered(), "the sample was dirty")

    def fail(self) -> None:
        query = self.one_asked()
        self.asked.pop(query.id)
        self.study.fail(query, "the pump broke")

    def release(self) -> None:
        query = self.one_asked()
        self.asked.pop(query.id)
        self.study.release(query)

    def enqueue(self) -> None:
        variables = [v for v in self.study.problem.variables if not v.is_unknown]
        self.study.enqueue({v.name: self.generator.uniform(0.5, 1, v.shape) for v in variables})

    def observe(self) -> None:
        box = self.generator.choice(np.array(self.study.problem.boxes, dtype=object))
        inputs = self.generator.uniform(0, 1, box.inputs)
        self.study.observe(box, inputs, self.generator.uniform(0, 1, box.outputs))

    def reopen(self) -> None:
        self.study.close()
        self.study = self.open_again(self.make())

    def run(self) -> None:
        self.study.run(self.study.state.made() + 1, progress=False)

    def look(self) -> None:
        str(self.study.result())
        self.study.answers()

    KINDS = (
        *(tell,) * 8,
        *(tell_elsewhere,) * 4,
        *(correct, correct_elsewhere, retract) * 2,
        *(fail, release, enqueue, observe, reopen, run, look),
    )


def attempt(make: Callable[[], gs.Problem], seed: int, operations: int) -> dict[str, Any]:
    found: Counter[str] = Counter()
    raw: list[str] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GrisailleWarning)
        one = _Attempt(make, seed, Path(folder))
        for _ in range(operations):
            operation = one.generator.choice(np.array(one.KINDS, dtype=object))
            try:
                operation(one)
                found["done"] += 1
            except gs.GrisailleError:
                found["sentences"] += 1
            except Exception as error:
                found["raw"] += 1
                raw.append(f"{operation.__name__}: {error!r}")
        reasons = [t.reason for t in one.study.state.trials.values() if "cannot go on" in t.reason]
        trials = len(one.study.state.trials)
        one.study.close()
    row = {"problem": make.__name__, "seed": seed, "operations": operations}
    row |= {name: found[name] for name in ("done", "sentences", "raw")}
    return {**row, "trials": trials, "broken_rounds": len(reasons), "first_raw": "".join(raw[:1])}


if __name__ == "__main__":
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else OPERATIONS
    rows = [
        attempt(make, seed, operations // (SEEDS * len(PROBLEMS)))
        for make in PROBLEMS
        for seed in range(SEEDS)
    ]
    for row in rows:
        print(row, flush=True)
    total = {key: sum(row[key] for row in rows) for key in ("operations", "sentences", "raw")}
    print(total)
    write_rows("studies_loops", rows)
    write_result("studies_loops", total)
