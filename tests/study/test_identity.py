"""What is stored of problem and strategy: what identifies a study, and what only labels it."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import grisaille as gs
from grisaille.study.identity import labels_of, settings_of
from tests.study.study_helpers import nested

pytestmark = pytest.mark.slow


def described(strategy) -> str:
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(lambda s: s, name="f")(x))
    return settings_of(problem, strategy, "study", {}, 0, None)["strategy"]


SEARCH = "search=MultiStart(starts=8, samples=512, iterations=40)"


@pytest.mark.parametrize(
    ("solver", "text"),
    [
        (gs.Certified(), f"Optimistic(solver=Certified({SEARCH}))"),
        (gs.Certified(regions=5000), f"Optimistic(solver=Certified(boxes=5000, {SEARCH}))"),
        (gs.MultiStart(starts=3), "Optimistic(solver=MultiStart(starts=3))"),
    ],
)
def test_a_renamed_option_is_stored_under_its_former_name(solver, text):
    assert described(gs.Optimistic(solver=solver)) == text


def test_what_is_at_its_default_is_not_stored():
    assert described(gs.Optimistic()) == "Optimistic()"


def chain(*, named: bool = True, unit: str | None = "K", tolerance: float | None = None):
    x = gs.Variable("x", lower=0, upper=1, unit=unit)
    y = gs.BlackBox(lambda s: s, name="f", noise=0)(x)
    goal = gs.named("cost", y + 1, unit="$") if named else y + 1
    constraints = {"limit": y <= 0.5} if named else [y <= 0.5]
    return gs.Problem(minimize=goal, subject_to=constraints, feasibility_tol=tolerance)


def test_names_and_units_are_stored_as_labels():
    settings = settings_of(chain(), gs.Optimistic(), "study", {}, 0, None)
    assert settings["constraints"] == ["limit"]
    assert labels_of(settings) == {
        "objective": "cost",
        "objective_unit": "$",
        "entry_units": ["K"],
        "constraint_units": [None],
        "formulas": ["f(x) <= 0.5"],
        "tolerances": [0.0],
    }


def test_a_problem_without_names_stores_what_it_always_did():
    settings = settings_of(chain(named=False, unit=None), gs.Optimistic(), "study", {}, 0, None)
    assert "labels" not in settings
    assert labels_of(settings)["formulas"] == settings["constraints"] == ["f(x) <= 0.5"]


def test_a_study_may_be_opened_with_other_names_and_the_newest_ones_count(tmp_path):
    where = {"name": "s", "storage": f"sqlite:///{tmp_path / 'study.db'}"}
    strategy = gs.RandomSearch()

    def opened(problem: gs.Problem, **options):
        with gs.Study(problem, strategy=strategy, **where, **options) as study:
            study.run(len(study.history) + 1, progress=False)
            return study.state.settings, [t.x.tolist() for t in study.history]

    plain, first = opened(chain(named=False, unit=None))
    assert "labels" not in plain
    named, second = opened(chain())
    assert (named["constraints"], named["labels"]["objective"]) == (["limit"], "cost")
    assert second[:1] == first
    plain, third = opened(chain(named=False, unit=None))
    assert (plain["constraints"], plain["labels"]) == (["f(x) <= 0.5"], None)
    assert third[:2] == second
    with pytest.raises(gs.ProtocolError, match="made with something else"):
        opened(chain(tolerance=0.1))
    loose, _ = opened(chain(tolerance=0.1), allow_changes=True)
    assert loose["labels"]["tolerances"] == [0.1]


def test_nothing_is_written_when_names_are_as_before(tmp_path):
    where = {"name": "s", "storage": f"sqlite:///{tmp_path / 'study.db'}"}
    for _ in range(2):
        with gs.Study(chain(), **where) as study:
            assert len(study._session.events()) == 1


class Plain(gs.Strategy):
    def __init__(self, options: object) -> None:
        self.options = options
        self._cache = object()


@dataclass(frozen=True)
class Own(gs.Strategy):
    options: object = None


def mine(knowledge: gs.Knowledge) -> object: ...


def wide(knowledge: gs.Knowledge, width: float) -> object: ...


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        (Plain(gs.Optimistic()), "Plain(options=Optimistic())"),
        (Plain(Plain(3)), "Plain(options=Plain(options=3))"),
        (Own(), "Own()"),
        (Own(Plain(mine)), "Own(options=Plain(options=<function mine>))"),
        (Own(np.array([1.0, 2.0])), "Own(options=array([1., 2.]))"),
        (gs.Acquisition(mine), "Acquisition(function=<function mine>)"),
        (gs.Acquisition(lambda k: k, initial=3), "<function <lambda>>, initial=3)"),
        (
            gs.Acquisition(functools.partial(wide, width=0.1)),
            "Acquisition(function=functools.partial(<function wide>, width=0.1))",
        ),
    ],
)
def test_a_strategy_of_ones_own_is_described_without_addresses(strategy, text):
    assert described(strategy).endswith(text)
    assert " at 0x" not in described(strategy)


def test_the_picture_of_the_problem_is_stored_with_the_study():
    problem = nested()
    study = gs.Study(problem)
    graph = study.state.settings["graph"]
    assert [(node["kind"], node["box"]) for node in graph if node["box"]] == [
        ("black", "first"),
        ("black", "second"),
    ]
    assert all(read < len(graph) for node in graph for read in node["reads"])


def test_names_of_inputs_are_stored_with_the_study():
    study = gs.Study(nested())
    assert study.state.settings["input_names"]["first"] == ["x[0]", "x[1]"]
