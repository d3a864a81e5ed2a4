"""What a hostile tester found: deleted studies, changed problems, strange ends, endless runs."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import grisaille as gs
from grisaille.study.events import Asked
from grisaille.study.log.database import Database
from grisaille.study.state import Limits
from grisaille.study.writer import Writer
from tests.study.study_helpers import QUICK, answer, parabola
from tests.study.test_run_runner import boxed

pytestmark = pytest.mark.slow


def test_an_old_handle_cannot_write_into_a_study_that_was_made_anew(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    old = gs.Study(parabola(), strategy=QUICK, storage=storage, name="a")
    old.run(4, progress=False)
    (query,) = old.ask()
    Database(storage).delete("a")
    new = gs.Study(parabola(), strategy=QUICK, storage=storage, name="a")
    new.run(2, progress=False)
    with pytest.raises(gs.StorageError, match="somebody deleted"):
        old.tell(query, 1.0)
    assert new.run(3, progress=False).nit == 3
    new.close()
    old.close()


def test_no_bound_survives_a_change_of_the_problem(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"

    def problem(lower: float) -> gs.Problem:
        x = gs.Variable("x", lower=lower, upper=3)
        box = gs.BlackBox(lambda x: x**2, name="f", noise=0, lipschitz=6)
        return gs.Problem(minimize=box(x))

    strategy = gs.Optimistic(beta=gs.Declared())
    narrow = gs.Study(problem(1.0), strategy=strategy, storage=storage, name="s")
    assert narrow.run(40, gap_tol=0.1, progress=False).status == gs.Status.OPTIMAL
    narrow.close()
    wide = gs.Study(problem(-3.0), strategy=strategy, storage=storage, name="s", allow_changes=True)
    assert wide.result().lower_bound <= 0
    with pytest.raises(gs.ModelError, match="cannot be derived again"):
        wide.replay(1)
    result = wide.run(60, gap_tol=0.5, progress=False)
    assert result.lower_bound <= 0
    assert result.fun <= 0.5
    wide.close()


def test_a_change_keeps_the_own_answers_of_noisy_trials(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"

    def problem(noise: float) -> gs.Problem:
        x = gs.Variable("x", lower=0, upper=1)
        box = gs.BlackBox(None, name="f", noise=noise)
        return gs.Problem(minimize=box(np.minimum(x, 0.0)))  # the same inputs in every trial

    study = gs.Study(problem(0.5), strategy=QUICK, storage=storage, name="s")
    for value in (1.0, 2.0, 3.0):
        study.tell(study.ask()[0], value)
    study.close()
    changed = gs.Study(problem(0.6), strategy=QUICK, storage=storage, name="s", allow_changes=True)
    assert [t.objective for t in changed.history] == [1.0, 2.0, 3.0]
    changed.close()


def test_another_strategy_leaves_trials_under_way_as_they_are(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    study = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    (query,) = study.ask()
    study.close()
    other = gs.Study(parabola(), storage=storage, name="s", allow_changes=True)
    assert other.tell(query.id, 1.0) is not None
    other.close()


def test_costs_that_differ_still_give_complete_trials_with_given_kernels():
    x = gs.Variable("x", lower=-1, upper=1)
    kernel = gs.SquaredExponential(1.0, 1.0)
    cheap = gs.BlackBox(np.sin, name="cheap", noise=0, kernel=kernel)
    dear = gs.BlackBox(np.cos, name="dear", noise=0, kernel=kernel, cost=100)
    result = gs.Problem(minimize=dear(cheap(x))).solve(8, strategy=QUICK, progress=False)
    assert result.nit >= 2
    assert result.x is not None


@pytest.mark.parametrize("limit", [{"trials": 30}, {"max_cost": 30}])
@pytest.mark.parametrize("where", ["before", "between"])
def test_a_known_part_without_a_value_anywhere_ends_the_run_with_the_reason(limit, where):
    x = gs.Variable("x", lower=-3, upper=-1)
    f = gs.BlackBox(lambda v: v, name="f", noise=0)
    g = gs.BlackBox(lambda v: v, name="g", noise=0)
    inner = f(np.log(x)) if where == "before" else g(np.log(f(x)))
    with pytest.raises(gs.EvaluationError, match=r"all 5 trials failed.*\n.*known part before"):
        gs.Problem(minimize=inner).solve(**limit, strategy=QUICK, progress=False)
    study = gs.Study(gs.Problem(minimize=f(np.log(x))), strategy=QUICK)
    with pytest.raises(gs.EvaluationError, match="10 trials in a row broke off before any"):
        study.ask()


def test_an_answer_that_comes_after_another_one_is_kept_as_an_observation(tmp_path, capsys):
    storage = f"sqlite:///{tmp_path}/s.db"
    calls: list[float] = []

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 2:
            other = gs.Study(boxed(box), strategy=QUICK, storage=storage, name="s")
            other.tell(other.pending[0], x**2)
            other.close()
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK, storage=storage, name="s")
    assert study.run(4).nit == 4
    (kept,) = study.history.loose
    assert (kept.box, kept.inputs.tolist(), kept.outputs.tolist()) == (
        "f",
        [calls[1]],
        [calls[1] ** 2],
    )
    assert "'f' to query 2-1 came too late for its trial" in capsys.readouterr().out
    study.close()


def test_an_answer_whose_query_failed_for_good_meanwhile_is_kept_as_an_observation():
    calls: list[float] = []

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 2:
            # Other processes believed three times that the worker with this query was gone.
            for _ in range(3):
                study._session.write(
                    lambda writer: writer.fail(writer.state.queries["2-1"], "gone", lost=True)
                )
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK)
    result = study.run(4, progress=False)
    assert result.nit == 3
    assert [(o.inputs.tolist(), o.outputs.tolist()) for o in study.history.loose] == [
        ([calls[1]], [calls[1] ** 2])
    ]


def test_an_answer_to_a_query_that_was_lost_or_given_to_somebody_else_is_taken():
    calls: list[float] = []

    def box(x: float) -> float:
        calls.append(x)
        name = f"{len(calls)}-1"

        def lose(writer: Writer) -> None:
            writer.fail(writer.state.queries[name], "gone", lost=True)
            if len(calls) == 3:
                writer.append(Asked(name, "somebody else", None))

        if len(calls) in (2, 3):
            study._session.write(lose)
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK)
    assert study.run(4, progress=False).nit == 4
    assert len(calls) == 4
    assert not study.history.loose


@pytest.mark.parametrize("threads", [False, True])
def test_a_function_that_exits_fails_its_evaluation_and_nothing_more(threads):
    def box(x: float) -> float:
        if x > 1:
            sys.exit(3)
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK)
    if threads:
        with ThreadPoolExecutor(1) as executor:
            result = study.run(6, executor=executor, progress=False)
    else:
        result = study.run(6, progress=False)
    assert result.nit + len(result.failures) == 6
    assert all("raised SystemExit: 3" in f.reason for f in result.failures)
    assert study.pending == []


def test_a_worker_whose_number_went_to_another_process_is_dead(tmp_path):
    import os

    from grisaille.study.log.event_log import Worker
    from grisaille.study.log.heartbeat import beginning_of, this_host

    log = Database(f"sqlite:///{tmp_path}/s.db").create("s")
    log.beat(Worker("before", this_host(), os.getpid(), "long ago"), 1e9)
    with log.turn(0) as turn:
        assert not turn.alive("before")
    zombie = os.fork()
    if zombie == 0:
        os._exit(0)
    while beginning_of(zombie) is not None:
        time.sleep(0.01)
    os.waitpid(zombie, 0)
    log.close()


def test_discrepancy_bounds_use_what_was_known_when_trials_were_decided():
    x = gs.Variable("x", lower=-1, upper=1)
    box = gs.BlackBox(
        lambda x: float(np.sin(9 * x)),
        name="f",
        noise=0,
        kernel=gs.SquaredExponential(0.3, 1.0),
        lipschitz=9.0,
    )
    study = gs.Study(gs.Problem(minimize=box(x)), strategy=QUICK)
    (first,) = study.ask()
    study.tell(first, answer(study.problem, first))
    late, *others = study.ask(8)
    for query in [*others, late]:
        study.tell(query, answer(study.problem, query))
    result = study.result()
    bounds = result.discrepancy_bounds()
    for bound, trial in zip(bounds, result.history, strict=True):
        if trial.suggestion.bound.estimated is not None and trial.number > 1:
            assert trial.objective - trial.suggestion.bound.estimated <= bound[0] + 1e-9


def test_an_exception_without_words_in_a_callback_is_passed_on():
    def callback(_: gs.Trial) -> None:
        raise AssertionError

    with pytest.raises(AssertionError) as caught:
        parabola().solve(3, strategy=QUICK, callback=callback, progress=False)
    assert caught.value.result.nit == 1
    assert "AssertionError" in caught.value.result.message


def test_ctrl_c_during_the_final_bound_still_gives_a_result(monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    study = gs.Study(parabola(), strategy=QUICK)
    monkeypatch.setattr(gs.Optimistic, "bound", interrupted)
    result = study.run(3, progress=False)
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 3


def test_asking_that_fails_halfway_keeps_nothing(monkeypatch):
    study = gs.Study(parabola(), strategy=QUICK)
    suggest = gs.Optimistic.suggest

    def failing(self, situation):
        if situation.started == 2:
            raise ZeroDivisionError
        return suggest(self, situation)

    monkeypatch.setattr(gs.Optimistic, "suggest", failing)
    with pytest.raises(ZeroDivisionError):
        study.ask(3)
    assert study.pending == []


def test_a_box_cannot_change_its_shape_by_a_detour(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"

    def problem(name: str, size: int) -> gs.Problem:
        x = gs.Variable("x", size, lower=0, upper=1)
        return gs.Problem(minimize=gs.BlackBox(lambda v: float(v.sum()), name=name, noise=0)(x))

    gs.Study(problem("f", 1), storage=storage, name="s").close()
    gs.Study(problem("g", 1), storage=storage, name="s", allow_changes=True).close()
    with pytest.raises(gs.ProtocolError, match="other inputs or outputs"):
        gs.Study(problem("f", 2), storage=storage, name="s", allow_changes=True)


def test_the_time_limit_also_ends_waiting_for_others(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    other = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    decision = other._session.decide(Limits())
    other._session.start(decision)
    assert other._session.take() is not None
    study = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    started = time.monotonic()
    result = study.run(1, timeout=1, progress=False)
    assert time.monotonic() - started < 30
    assert result.nit == 0
    study.close()
    other.close()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.ask(trials="a"), "trials='a'"),
        (lambda s: s.ask(trials=2.5), "trials=2.5"),
        (lambda s: s.ask(lease=float("inf")), "lease=inf"),
        (lambda s: s.tell("1-1", 1.0, seconds=float("inf")), "seconds=inf"),
        (lambda s: s.run(max_cost=float("inf")), "max_cost=inf"),
        (lambda s: s.observe(["f"], [1.0], [1.0]), r"no black box \['f'\]"),
        (lambda s: gs.Study(s.problem, seed=True), "seed=True"),
    ],
)
def test_strange_arguments_get_a_sentence(call, message):
    with pytest.raises(gs.ModelError, match=message):
        call(gs.Study(parabola(), strategy=QUICK))


@pytest.mark.parametrize("large", [sys.float_info.max, -1e155])
def test_an_answer_that_is_too_large_to_learn_from_is_refused_everywhere(large):
    study = gs.Study(parabola(noise=None), strategy=QUICK)
    refused = pytest.raises(gs.EvaluationError, match=r"beyond ±1e\+150.*study\.retract")
    sheet = study.ask_sheet(1).astype({"f": object})
    queries = study.ask(2)
    study.tell(queries[0], 1.0)
    with refused:
        study.tell(queries[1], large)
    with refused:
        study.correct(queries[0], large)
    with refused:
        study.observe("f", [[0.5]], [[large]])
    sheet["f"] = large
    (line,) = study.tell_sheet(sheet).itertuples()
    assert line.outcome == "refused"
    assert "study.retract" in line.message
    study.tell(queries[1], 1e150)
    study.tell(sheet["id"][0], -1e150)
    assert study.run(5, progress=False).nit == 5
    assert len(study.answers()) == 5


def test_a_penalty_too_large_to_learn_from_counts_as_a_failure():
    x = gs.Variable("x", lower=-2, upper=3)
    box = gs.BlackBox(lambda x: sys.float_info.max if x > 2 else (x - 1) ** 2, name="f", noise=0)
    study = gs.Study(gs.Problem(minimize=box(x)), strategy=QUICK)
    study.enqueue([[2.5], [2.9]])
    result = study.run(10, progress=False)
    assert result.fun < 0.1
    assert "raise an exception in the function" in result.failures[0].reason


def test_a_study_that_recorded_a_number_too_large_asks_to_retract_it():
    study = gs.Study(parabola(noise=None), strategy=gs.RandomSearch())
    study.run(6, progress=False)
    late, large, ordinary = study.ask(3)

    def record(writer):  # as versions did that took any number
        writer.tell(writer.open_entry(large.id), np.array([1e200]), 0.0)

    study._session.write(record)
    said = r"black box 'f' at .* answered \[1e\+200\].*study\.retract"
    assert study.tell(ordinary, 1.0) is not None
    with pytest.raises(gs.EvaluationError, match=said):
        study.result()
    study.retract(large)
    study.tell(late, 1.0)
    assert study.result().nit == 8


def test_rows_are_recorded_whatever_their_remarks_come_to(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    study = gs.Study(parabola(), strategy=QUICK)
    monkeypatch.setattr("grisaille.study.study.remarks_on_rows", broken)
    with pytest.raises(ZeroDivisionError):
        study.observe("f", [[0.5]], [[0.25]])
    assert len(study.answers()) == 1


@pytest.mark.parametrize("power", [-1000, -560, -300, 300, 490])
def test_outputs_of_any_size_are_learned(power):
    """A power of two is exact, so that the size changes nothing while floats have room."""

    def run(size):
        x = gs.Variable("s", lower=0, upper=1)
        box = gs.BlackBox(lambda s: size * (np.sin(5 * s) + s**2), name="f")
        return gs.Problem(minimize=box(x)).solve(8, strategy=QUICK, progress=False)

    plain, sized = run(1.0), run(2.0**power)
    assert np.isfinite(sized.lower_bound)
    assert sized.lower_bound <= sized.fun < 0
    if abs(power) <= 300:
        assert sized.x.tolist() == plain.x.tolist()
        assert sized.lower_bound == 2.0**power * plain.lower_bound


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("place", [0.2, 0.731])
def test_a_narrow_peak_with_a_plateau_of_next_to_nothing_is_learned(sign, place):
    x = gs.Variable("s", lower=0, upper=1)
    box = gs.BlackBox(lambda s: sign * np.exp(-(((s - place) / 0.01) ** 2)), name="f")
    study = gs.Study(gs.Problem(minimize=box(x)), strategy=QUICK)
    result = study.run(7, progress=False)
    # No smooth function predicts the peak: its answers are learned, and may leave no bound.
    assert np.isfinite(result.fun)
    assert np.isfinite(result.lower_bound) or "there is no bound" in result.message
    assert "f" in str(result)


@pytest.mark.parametrize("size", [1e17, -1e100, 1e149])
def test_a_black_box_that_reads_one_large_number_is_learned(size):
    x = gs.Variable("x", lower=0, upper=1)
    first = gs.BlackBox(lambda x: size, name="first", noise=0)
    second = gs.BlackBox(lambda y: 2.0, name="second")
    study = gs.Study(gs.Problem(minimize=second(first(x)) + x), strategy=gs.RandomSearch())
    study.run(4, progress=False)
    assert study.model("second").leave_one_out()["second"].tolist() == [2.0] * 4
    assert np.isfinite(study.predict([[0.5]]).to_numpy()).all()


@pytest.mark.parametrize("ask", ["bound_sources", "discrepancy_bounds", "regret_bound"])
def test_bounds_on_regret_without_any_answer_get_a_sentence(ask):
    result = gs.Study(parabola(), strategy=QUICK).result()
    with pytest.raises(gs.ModelError, match="black box 'f' has no answer"):
        getattr(result, ask)()
