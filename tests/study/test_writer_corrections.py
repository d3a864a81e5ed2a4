"""Answers that were wrong: corrected or taken back, and what follows from that."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from tests.study.study_helpers import QUICK, answer, nested, parabola

pytestmark = pytest.mark.slow


CHANCE = gs.RandomSearch()


def told(problem: gs.Problem, trials: int, **options) -> gs.Study:
    study = gs.Study(problem, strategy=CHANCE, **options)
    study.run(trials, progress=False)
    return study


def test_a_corrected_answer_counts_everywhere_as_if_it_had_been_told_at_first():
    study = told(parabola(), 4)
    right = study.history.trials[1]
    study.correct("2-1", 100.0)
    assert max(t.objective for t in study.history) == 100.5
    trial = study.correct("2-1", right.observations[0].outputs[0])
    assert trial.objective == right.objective
    assert study.result().fun == min(t.objective for t in study.history)
    assert [e.kind for e in study.events()].count("corrected") == 2


def test_the_wrong_answer_stays_in_the_log():
    study = told(parabola(), 1)
    study.correct("1-1", 3.5)
    outputs = [e.data["outputs"] for e in study.events() if e.kind in ("told", "corrected")]
    assert outputs[1] == [3.5]
    assert outputs[0] != [3.5]


def test_decisions_before_a_correction_are_replayed_from_what_was_known_then():
    study = gs.Study(parabola(), strategy=QUICK, seed=3)
    study.run(7, progress=False)
    before = study.state.trials[7].suggestion.x.tolist()
    study.correct("5-1", 9.0)
    assert study.replay(7).x.tolist() == before


def test_a_box_that_was_evaluated_for_a_wrong_answer_is_asked_again():
    problem = nested(noise=0)
    study = told(problem, 2)
    first, second = study.answers("first"), study.answers("second")
    assert study.correct("1-1", [0.25, 0.5]) is None
    (query,) = study.pending or study.ask()
    assert (query.box, query.inputs.tolist(), query.trial) == ("second", [0.25, 0.5], 1)
    trial = study.tell(query, answer(problem, query))
    assert trial.objective == 0.25**2 + 0.5
    # Nothing is lost: the answer for the wrong inputs is right for these.
    assert len(study.answers("second")) == len(second) + 1
    assert len(study.answers("first")) == len(first)


def test_along_a_real_chain_the_inputs_follow_the_correction():
    study = told(nested(noise=0), 2, evaluation="chained")
    outputs = study.history.trials[0].observations[1].outputs
    trial = study.correct("1-1", [0.25, 0.5])
    assert trial.observations[1].inputs.tolist() == [0.25, 0.5]
    assert trial.observations[1].outputs.tolist() == outputs.tolist()
    assert not study.pending


def test_a_pending_chain_asks_for_the_corrected_inputs():
    problem = nested(noise=0)
    study = gs.Study(problem, strategy=CHANCE)
    (first,) = study.ask()
    study.tell(first, [5.0, 5.0])
    (wrong,) = study.ask()
    assert wrong.inputs.tolist() == [5.0, 5.0]
    study.correct(first, [0.25, 0.5])
    (right,) = study.ask()
    assert right.inputs.tolist() == [0.25, 0.5]
    assert study.tell(right, 1.0) is not None
    study.tell(wrong, 2.0)  # somebody made it: it is kept
    assert [5.0, 5.0] in [o.inputs.tolist() for o in study.history.observations()]


def test_inputs_are_corrected_too():
    study = told(parabola(), 2)
    trial = study.correct("1-1", 0.0, inputs=1.0)
    assert (trial.x.tolist(), trial.objective) == ([1.0], 0.5)


def test_a_correction_is_checked_like_an_answer():
    study = told(parabola(lower=0), 1)
    with pytest.raises(gs.EvaluationError, match="query 1-1"):
        study.correct("1-1", [1.0, 2.0])
    with pytest.raises(gs.AssumptionError, match="outside the range"):
        study.correct("1-1", -1.0)
    assert "corrected" not in [e.kind for e in study.events()]


@pytest.mark.parametrize("method", ["correct", "retract"])
def test_an_answer_that_does_not_exist_is_named(method):
    study = told(parabola(), 1)
    (query,) = study.ask()
    with pytest.raises(gs.ProtocolError, match=r"query 2-1 has no answer yet: it is asked; use t"):
        getattr(study, method)(query, "1" if method == "retract" else 1.0)
    with pytest.raises(gs.ProtocolError, match=r"the study has no answer '9-9': ids look like"):
        getattr(study, method)("9-9", "1" if method == "retract" else 1.0)


def test_nothing_is_learned_from_a_retracted_answer():
    study = told(parabola(), 4)
    best = study.result().history.trials[study.result().best_trial]
    study.retract(f"{best.number}-1", "the sample was dirty")
    assert best.number not in [t.number for t in study.history]
    assert len(list(study.history.observations())) == 3
    assert study.run(5, progress=False).nit == 4
    with pytest.raises(gs.ProtocolError, match=r"was retracted \(the sample was dirty\)"):
        study.tell(f"{best.number}-1", 1.0)


def test_a_retracted_answer_ends_its_pending_trial():
    problem = nested(noise=0)
    study = gs.Study(problem, strategy=CHANCE)
    (first,) = study.ask()
    study.tell(first, [5.0, 5.0])
    study.retract(first, "mixed up")
    assert "the answer to query 1-1 was retracted: mixed up" in study.state.trials[1].reason
    assert study.ask()[0].trial == 2


def test_a_reason_is_said_in_words():
    study = told(parabola(), 1)
    with pytest.raises(gs.ModelError, match=r"retract\(reason=''\): say in words"):
        study.retract("1-1", "")


def test_corrections_survive_in_a_stored_study(tmp_path):
    options = {"name": "s", "storage": f"sqlite:///{tmp_path}/s.db", "strategy": CHANCE}
    with gs.Study(nested(noise=0), **options) as study:
        study.run(3, progress=False)
        study.correct("1-1", [0.25, 0.5])
        study.retract("3-1")
        before = study.answers()
    with gs.Study(nested(noise=0), **options) as study:
        assert study.answers().equals(before)
        assert [q.id for q in study.ask(1, trials=3)] == ["1-3"]


def test_a_strategy_learns_from_corrected_answers():
    x = gs.Variable("x", lower=-2, upper=3)
    box = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", noise=0)
    study = gs.Study(gs.Problem(minimize=box(x)), strategy=QUICK)
    study.run(6, progress=False)
    study.correct("6-1", 50.0)
    posterior = study.situation
    assert np.isin(50.0, [o.outputs for o in posterior.history.observations()])


# --- answers that no outcome rests on ------------------------------------------------------------
def nested_study():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(lambda x: np.sin(5 * x), name="f", noise=0)
    g = gs.BlackBox(lambda y: (y - 0.3) ** 2, name="g", noise=0)
    quick = gs.MultiStart(starts=4, samples=256)
    study = gs.Study(gs.Problem(minimize=g(f(x))), strategy=gs.Optimistic(solver=quick, initial=3))
    study.run(8, progress=False)
    return study, next(name for name in study.answers()["id"] if "-p" in name)


def test_correcting_an_answer_beside_the_chain_leaves_its_trial_complete():
    study, probe = nested_study()
    before = [(t.number, t.objective) for t in study.history]
    study.correct(probe, 0.5)
    assert [(t.number, t.objective) for t in study.history] == before
    answers = [o.outputs.tolist() for t in study.history for o in t.observations]
    assert [0.5] in answers
    assert len(answers) == len(study.answers())
    assert not study.history.loose


def test_retracting_an_answer_beside_the_chain_leaves_its_trial_complete():
    study, probe = nested_study()
    before = [(t.number, t.objective) for t in study.history]
    seen = sum(len(t.observations) for t in study.history)
    study.retract(probe, "a typing error")
    assert [(t.number, t.objective) for t in study.history] == before
    assert sum(len(t.observations) for t in study.history) == seen - 1
    assert not study.history.loose
    assert len(study.run(9, progress=False).history) == 9
