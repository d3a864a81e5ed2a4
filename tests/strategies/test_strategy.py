"""A user's own strategy needs one method."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

import grisaille as gs
from tests.strategies.strategy_helpers import after, composite, constrained


class Curious(gs.Strategy):
    """Every third point is drawn, the others are those of another strategy."""

    def __init__(self, every: int = 3) -> None:
        self.every = every
        self.other = gs.CUQB(samples=16)
        self._hidden = object()

    def suggest(self, situation: gs.Situation) -> object:
        if situation.started % self.every == self.every - 1:
            return situation.generator.uniform(situation.lower, situation.upper)
        return self.other.suggest(situation)


@dataclass(frozen=True, slots=True)
class Middle(gs.Strategy):
    """Always the middle, as a list."""

    def suggest(self, situation: gs.Situation) -> object:
        return list((situation.lower + situation.upper) / 2)


def test_a_class_with_one_method_is_a_strategy():
    result = composite().solve(6, strategy=Curious(), seed=4, progress=False)
    kinds = [str(trial.suggestion.kind) for trial in result.history]
    assert kinds[2] == kinds[5] == "acquired"
    drawn = result.history.trials[2].x
    seed = np.random.SeedSequence([4, 2]).generate_state(1)[0]
    assert drawn.tolist() == np.random.default_rng(seed).uniform([-1, -1], [1, 1]).tolist()


def test_the_methods_that_are_left_out_have_defaults():
    situation = after(constrained(), 6)
    strategy = Middle()
    feasible = [t.objective for t in situation.history if t.violation == 0]
    assert strategy.incumbent(situation).objective == min(feasible)
    assert strategy.bound(situation) == gs.Bound(
        reason="Middle gives none, and gs.Optimistic() does"
    )
    assert strategy.learned(constrained(kernel=None)) == ["h", "g"]
    strategy.check(situation.problem)


def test_a_decision_of_ones_own_strategy_can_be_derived_again():
    study = gs.Study(composite(), strategy=Curious(), seed=1)
    study.run(4, progress=False)
    for trial in study.history:
        again = study.replay(trial.number)
        assert again.x.tolist() == trial.x.tolist()
        assert again.kind is trial.suggestion.kind


def test_a_plain_class_is_written_with_its_options():
    assert repr(Curious(2)) == f"Curious(every=2, other={gs.CUQB(samples=16)!r})"
    assert repr(Middle()) == "Middle()"


def test_a_class_that_lacks_a_method_is_told_of_the_base_class():
    class Half:
        def suggest(self, situation: object) -> object: ...

    with pytest.raises(gs.ModelError, match=r"no method 'check': make its class a subclass of gs"):
        composite().solve(2, strategy=Half(), progress=False)
    with pytest.raises(gs.ModelError, match=r"gs.Acquisition\(function\) makes a strategy"):
        composite().solve(2, strategy=lambda situation: None, progress=False)


PAGE = Path(__file__).parents[2] / "docs/own_strategies.md"


@pytest.mark.parametrize(
    ("record", "prefix"),
    [
        (gs.Situation, ""),
        (gs.Suggestion, ""),
        (gs.History, "history."),
        (gs.Trial, "trial."),
        (gs.Bound, "bound."),
        (gs.Incumbent, "incumbent."),
    ],
)
def test_every_field_is_on_the_page_about_own_strategies(record, prefix):
    page = PAGE.read_text(encoding="utf-8")
    heading = f"## `{record.__name__}`" if not prefix else "## `Situation`"
    section = page[page.index(heading) :] if prefix else page.split(heading)[1].split("\n## ")[0]
    names = [field.name for field in fields(record)]
    if record is gs.Situation:
        names += [n for n, v in vars(record).items() if isinstance(v, property)]
    assert [name for name in names if f"`{prefix}{name}`" not in section] == []


def test_every_part_of_what_is_known_is_on_the_page():
    section = PAGE.read_text(encoding="utf-8").split("## `Knowledge`")[1].split("\n## ")[0]
    public = [name for name in vars(gs.Knowledge) if not name.startswith("_")]
    for name in (*public, "situation", "beta"):
        assert f"`{name}`" in section or f"`{name}(" in section, name


def test_the_strategies_on_the_page_are_short_and_run():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {"gs": gs}
    for block in blocks[:2]:
        code = block.replace("problem.solve(30,", "problem.solve(4, progress=False,")
        assert len(code.splitlines()) <= 25
        names["problem"] = composite()
        exec(code, names)
    greedy = names["EpsilonGreedy"](every=1)
    result = composite().solve(3, strategy=greedy, progress=False)
    assert {str(t.suggestion.kind) for t in result.history} == {"acquired"}
