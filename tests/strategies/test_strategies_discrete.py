"""Every strategy tries whole numbers and labels only."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.reductions.collapse import Collapse


def problem_of(**options: object) -> gs.Problem:
    choice = gs.Choice("catalyst", ["A", "B", "C"])
    stages = gs.Integer("stages", lower=3, upper=12)
    x = gs.Variable("x", lower=0, upper=1)

    def h(stages, catalyst, x):
        assert isinstance(stages, int)
        assert catalyst in ("A", "B", "C")
        return 0.02 * (stages - 7) ** 2 + {"A": 1, "B": 0, "C": 0.5}[catalyst] + (x - 0.3) ** 2

    box = gs.BlackBox(h, noise=0, **options)
    known = 0.3 * (choice == "B")
    return gs.Problem(
        minimize=box(stages, choice, x) + known, subject_to=[stages + 2 * (choice == "A") <= 11]
    )


def lower_mean(knowledge: gs.Knowledge):
    return lambda design: -knowledge.predict(design)[0]


@pytest.mark.parametrize(
    "strategy",
    [
        gs.Optimistic(initial=2),
        gs.EIFN(initial=2),
        gs.EICF(initial=2),
        gs.CUQB(initial=2),
        gs.CONFIG(initial=2),
        gs.LogEI(initial=2),
        gs.RandomSearch(),
        gs.MCBO(initial=2),
        gs.Acquisition(lower_mean, initial=2),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_every_tried_point_is_whole(strategy: gs.Strategy):
    result = problem_of().solve(4, strategy=strategy, evaluation="chained", progress=False)
    points = np.array([trial.x for trial in result.history])
    assert len(points) == 4
    np.testing.assert_array_equal(points[:, :2], np.rint(points[:, :2]))


def test_the_collapsed_black_box_takes_labels_and_learns_from_them():
    problem = problem_of()
    inside = gs.collapse(problem)
    (box,) = inside.boxes
    assert box.argument_labels[1] == ("A", "B", "C")
    assert box.fn(7, "B", 0.3)[0] == pytest.approx(0.3)
    result = problem.solve(2, strategy=gs.RandomSearch(), progress=False)
    situation = gs.Situation(problem, result.history, seed=0)
    (first, *_) = Collapse(situation.problem, inside).down(situation).history.observations()
    assert first.inputs.shape == (5,)
    assert first.inputs[1:4].sum() == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"lipschitz": [1, 2, 3]}, r"5 inputs \(a choice is one per label\)"),
        ({"monotone": [None, None, "increasing"]}, r"5 inputs \(a choice is one per label\)"),
        ({"input_lower": [3, 0, 0]}, r"5 numbers \(a choice is one per label\)"),
        (
            {"kernel": gs.Matern(lengthscale=[3, 1, 0.5], variance=1)},
            r"5 numbers \(a choice is one per label\), but its kernel has 3 length-scales",
        ),
    ],
)
def test_messages_say_that_a_choice_is_one_input_per_label(options, sentence):
    with pytest.raises(gs.ModelError, match=sentence):
        problem_of(**options).solve(1, progress=False)


@pytest.mark.parametrize(
    ("beta", "options"),
    [
        (gs.Declared(), {"lipschitz": [1, 2, 2, 2, 3], "lower": -1, "upper": 5}),
        (
            gs.Theory(),
            {"kernel": gs.Matern(lengthscale=[3, 1, 1, 1, 0.5], variance=1), "norm_bound": 5},
        ),
    ],
    ids=["declared", "theory"],
)
def test_declared_knowledge_has_one_number_per_label(beta, options):
    result = problem_of(**options).solve(3, strategy=gs.Optimistic(beta=beta), progress=False)
    assert result.nit == 3


def test_problems_over_interventions_refuse_choices_with_a_sentence():
    choice = gs.Choice("catalyst", ["A", "B"])
    box = gs.BlackBox(None, name="h", process_noise=True, noise=0.1)
    model = gs.Problem(minimize=box(choice))
    with pytest.raises(gs.ModelError, match="'catalyst' is a Choice, which problems over"):
        gs.causal_problem(model, [gs.do(model.objective, lower=0, upper=1)])
