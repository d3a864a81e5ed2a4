"""Running a study: executors, child processes, timeouts, crashes, costs."""

from __future__ import annotations

import itertools
import os
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

import grisaille as gs
from grisaille import problems
from grisaille.study.state import Limits, TrialState
from grisaille.views.progress import Progress
from tests.study.study_helpers import QUICK, decisions, nested, parabola

pytestmark = pytest.mark.slow


def boxed(function, **options) -> gs.Problem:
    x = gs.Variable("x", lower=-2, upper=3)
    return gs.Problem(minimize=gs.BlackBox(function, name="f", noise=0, **options)(x))


def test_child_processes_make_the_evaluations_and_all_trials_complete():
    here = os.getpid()

    def box(x: float) -> float:
        assert os.getpid() != here
        return (x - 1) ** 2

    result = boxed(box).solve(8, strategy=QUICK, workers=2, progress=False)
    assert result.nit == 8
    assert not result.failures
    assert result.fun < 0.1


def test_one_child_process_makes_the_decisions_of_this_process():
    apart, here = (gs.Study(nested(), strategy=QUICK) for _ in range(2))
    apart.run(8, workers=1, progress=False)
    here.run(8, progress=False)
    assert decisions(apart) == decisions(here)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_of_concurrent_futures_are_taken_and_left_open(kind):
    with kind(2) as executor:
        study = gs.Study(nested(), strategy=QUICK)
        result = study.run(6, executor=executor, progress=False)
        assert result.nit == 6
        assert not result.failures
        assert executor.submit(abs, -3).result() == 3


def test_a_dask_client_is_taken():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        result = nested().solve(6, strategy=QUICK, executor=client, progress=False)
    assert result.nit == 6
    assert not result.failures


def test_anything_with_submit_is_taken_if_it_says_how_many():
    class Mine:
        def submit(self, function, *arguments):
            future = Future()
            threading.Thread(target=lambda: future.set_result(function(*arguments))).start()
            return future

    with pytest.raises(gs.ModelError, match="how many workers it has: pass workers="):
        parabola().solve(4, strategy=QUICK, executor=Mine(), progress=False)
    result = parabola().solve(4, strategy=QUICK, executor=Mine(), workers=2, progress=False)
    assert result.nit == 4
    with pytest.raises(gs.ModelError, match="pass an object with submit"):
        parabola().solve(4, strategy=QUICK, executor=ThreadPoolExecutor, progress=False)


def test_a_new_evaluation_starts_as_soon_as_a_worker_is_free():
    slow = threading.Event()
    calls = itertools.count(1)

    def box(x: float) -> float:
        number = next(calls)
        if number == 1:
            slow.wait(300)  # the first evaluation waits for all others
        elif number == 6:
            slow.set()
        return x**2

    with ThreadPoolExecutor(2) as executor:
        result = boxed(box).solve(6, strategy=QUICK, executor=executor, progress=False)
    assert slow.is_set()
    assert result.nit == 6
    # The first one came after all others, except perhaps the one that let it go on.
    assert 1 in [t.number for t in result.history][-2:]


def test_an_evaluation_that_takes_too_long_is_killed_recorded_and_tried_once_more():
    def box(x: float) -> float:
        if x > 0:
            time.sleep(60)
        return x**2

    study = gs.Study(boxed(box, timeout=0.3), strategy=QUICK)
    started = time.monotonic()
    result = study.run(4, progress=False)
    assert time.monotonic() - started < 50
    assert result.failures
    for failure in result.failures:
        assert failure.inputs[0] > 0
        assert "black box 'f' at" in failure.reason
        assert "took longer than 0.3 s (timeout=0.3)" in failure.reason
    entry = study.state.queries[f"{result.failures[0].trial}-1"]
    assert entry.attempts == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_crashing_evaluation_hurts_nobody_else(workers):
    def box(x: float) -> float:
        if 0 < x < 1.5:
            os._exit(7)
        return x**2

    result = boxed(box).solve(8, strategy=QUICK, workers=workers, progress=False)
    assert result.nit + len(result.failures) == 8
    assert result.nit >= 3
    assert all("exited with code 7" in f.reason for f in result.failures)
    assert all(0 < f.inputs[0] < 1.5 for f in result.failures)


def test_a_broken_process_pool_is_explained_and_nothing_told_is_lost():
    def box(x: float) -> float:
        if x > 1:
            os._exit(7)
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK)
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(gs.EvaluationError, match="pass workers= instead of executor="),
    ):
        study.run(12, executor=executor, progress=False)
    told = len(study.history)
    assert study.pending == []
    result = study.run(told + 3, workers=1, progress=False)
    assert result.nit >= told


def test_an_exception_with_its_text_is_recorded_with_inputs_and_reason():
    calls = []

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 2:
            raise ValueError("the mesh is tangled")
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK)
    result = study.run(4, progress=False)
    assert result.nit == 4
    assert not result.failures  # the second attempt succeeded
    assert calls[1] == calls[2]
    (failed,) = [e.data for e in study.events() if e.kind == "failed"]
    assert "raised ValueError: the mesh is tangled" in failed["reason"]
    assert not failed["final"]


def test_without_retries_a_failure_is_final():
    def box(x: float) -> float:
        if x > -0.5:
            raise ValueError("no")
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK, retries=0)
    result = study.run(6, progress=False)
    assert result.failures
    assert all(q.attempts <= 1 for q in study.state.queries.values())


def test_ctrl_c_gives_queries_back_and_running_again_goes_on(tmp_path):
    calls = []

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK, storage=f"sqlite:///{tmp_path}/s.db", name="s")
    result = study.run(6, progress=False)
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 3
    assert study.pending == []
    assert study.run(6, progress=False).nit == 6
    assert calls[3] == calls[4]  # the same inputs again
    unbroken = gs.Study(boxed(lambda x: x**2), strategy=QUICK)
    unbroken.run(6, progress=False)
    assert decisions(study) == decisions(unbroken)
    study.close()


def test_the_time_limit_lets_trials_under_way_finish():
    study = gs.Study(nested(lambda y: (time.sleep(0.2), float(y[0]))[1], noise=0), strategy=QUICK)
    result = study.run(50, timeout=0.5, progress=False)
    assert result.status == gs.Status.TIMEOUT
    states = [t.state for t in study.state.trials.values()]
    assert set(states) == {TrialState.COMPLETE}
    assert 1 <= len(states) < 50


@pytest.mark.parametrize("workers", [None, 2])
def test_a_stop_in_the_view_lets_trials_under_way_finish_and_says_so(monkeypatch, workers):
    class Impatient(Progress):
        rows = 0

        def add(self, row) -> None:
            self.rows += 1

        @property
        def stop_requested(self) -> bool:
            return self.rows >= 3

    view = Impatient()
    monkeypatch.setattr("grisaille.study.run.show_progress", lambda *_: nullcontext(view))
    study = gs.Study(nested(noise=0), strategy=gs.RandomSearch())
    result = study.run(50, workers=workers)
    assert result.status == gs.Status.INTERRUPTED
    assert result.message.startswith("stopped with the button; everything evaluated is in the res")
    assert 3 <= result.nit <= 3 + 2 * (workers or 0)
    assert all(t.state is TrialState.COMPLETE for t in study.state.trials.values())
    assert study.run(result.nit + 1, progress=False).nit == result.nit + 1


def test_dear_boxes_are_evaluated_less_when_costs_differ_and_the_answer_is_as_good():
    def problem(cost: float) -> gs.Problem:
        x = gs.Variable("x", 2, lower=-1, upper=1)
        cheap = gs.BlackBox(lambda x: np.sin(3 * x[0]) + x[1] ** 2, name="cheap", noise=0)
        dear = gs.BlackBox(lambda y: float((y + 0.5) ** 2), name="dear", noise=0, cost=cost)
        return gs.Problem(minimize=dear(cheap(x)) + 0.1 * x[0])

    alike = gs.Study(problem(1.0), strategy=QUICK)
    weighed = gs.Study(problem(30.0), strategy=QUICK)
    first, second = (s.run(16, progress=False) for s in (alike, weighed))
    assert second.evaluations["dear"] < first.evaluations["dear"] / 2
    assert second.evaluations["cheap"] >= 14
    assert second.fun <= first.fun + 0.02
    partial = [t for t in weighed.state.trials.values() if not t.suggestion.chain]
    assert partial
    assert all(t.state is TrialState.PARTIAL for t in partial)


def test_what_each_box_tells_is_what_goes_from_the_promise_without_its_band():
    import torch

    from grisaille.belief.rules import plausible_set
    from grisaille.strategies.practical.costs import worth

    x = gs.Variable("x", lower=0, upper=1)
    kernel = gs.SquaredExponential(0.5, 1.0)
    f = gs.BlackBox(lambda x: x, name="f", noise=0, kernel=kernel)
    g = gs.BlackBox(lambda x: x, name="g", noise=0, kernel=kernel)
    problem = gs.Problem(minimize=3 * f(x) + g(x))
    history = gs.History(
        loose=tuple(
            gs.Observation(name, np.array([at]), np.array([0.0]))
            for name, at in (("f", 0.0), ("g", 0.0), ("g", 1.0))
        )
    )
    plausible = plausible_set(problem.program, history, 2.0)
    point = torch.tensor([1.0, -1.0, -1.0], dtype=torch.float64)
    deviation = plausible.beliefs["f"].predict(torch.ones(1, 1, dtype=torch.float64))[1][0, 0]
    values = worth(plausible, point, history)
    assert values[0] == pytest.approx(3 * 2 * float(deviation))
    assert values[1] == pytest.approx(0, abs=1e-3)


def test_a_budget_too_small_for_one_trial_makes_none():
    result = parabola(cost=5).solve(max_cost=4, strategy=QUICK, progress=False)
    assert result.status == gs.Status.MAX_COST
    assert result.nit == 0


def test_evaluations_at_once_still_find_a_constrained_optimum():
    known = problems.bazaraa()
    with ThreadPoolExecutor(3) as executor:
        result = known.problem.solve(16, seed=3, executor=executor, progress=False)
    assert result.success
    assert known.regret(result.fun) < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "trials=0"),
        ({"workers": 0}, "workers=0"),
        ({"max_cost": -1}, "max_cost=-1"),
        ({"timeout": "soon"}, "timeout='soon'"),
        ({"callback": 3}, "callback=3"),
    ],
)
def test_bad_arguments_of_run_get_a_sentence(options, message):
    with pytest.raises(gs.ModelError, match=message):
        gs.Study(parabola(), strategy=QUICK).run(**{"progress": False, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"cost": 0}, "cost=0"), ({"cost": "much"}, "cost"), ({"timeout": -1}, "timeout=-1")],
)
def test_bad_costs_and_timeouts_of_a_black_box_get_a_sentence(options, message):
    with pytest.raises(gs.ModelError, match=message):
        parabola(**options)


def test_a_closed_gap_stops_a_run_with_several_workers_too():
    with ThreadPoolExecutor(2) as executor:
        result = parabola().solve(40, executor=executor, gap_tol=0.1, progress=False)
    assert result.status in (gs.Status.OPTIMAL, gs.Status.GAP_TOL)
    assert result.nit < 40
    assert result.gap <= 0.1


def test_retries_do_not_exceed_the_budget():
    def box(x: float) -> float:
        raise ValueError("no")

    study = gs.Study(boxed(box, cost=5), strategy=QUICK, retries=5)
    assert study.run(max_cost=12, progress=False).status == gs.Status.MAX_COST
    assert study.cost == 10


def test_a_process_notices_that_another_one_changed_the_problem(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    old = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    (query,) = old.ask()
    x = gs.Variable("x", lower=-2, upper=3)
    box = gs.BlackBox(lambda x: (x - 1) ** 2, name="f", noise=0)
    changed = gs.Problem(minimize=box(x) + 1.5)
    gs.Study(changed, strategy=QUICK, storage=storage, name="s", allow_changes=True).close()
    with pytest.raises(gs.ProtocolError, match="changed by another process: open it again"):
        old.tell(query, 1.0)
    old.close()


def test_a_process_notices_that_another_one_changed_the_strategy(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    old = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    (query,) = old.ask()
    other = gs.RandomSearch()
    with gs.Study(
        parabola(), strategy=other, storage=storage, name="s", allow_changes=True
    ) as changed:
        old.tell(query, 1.0)  # an answer is an answer
        (query,) = changed.ask()
        drawn = changed.replay(query.trial)
        assert drawn.x.tolist() == query.inputs.tolist()
        with pytest.raises(gs.ProtocolError, match=r"with the changed strategy, RandomSearch\(\)"):
            old.replay(query.trial)
        with pytest.raises(gs.ProtocolError, match="changed by another process"):
            old.ask()
        assert len(changed.state.trials) == query.trial  # nothing was decided by the old one
    old.close()


def test_a_decision_that_was_under_way_when_the_strategy_changed_is_not_recorded(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"

    class Slow(gs.RandomSearch):
        def suggest(self, situation):
            if not changes:
                changes.append(gs.RandomSearch())
                given = {"strategy": changes[0], "storage": storage, "name": "s"}
                gs.Study(parabola(), allow_changes=True, **given).close()
            return super().suggest(situation)

    changes: list[gs.RandomSearch] = []
    with gs.Study(parabola(), strategy=Slow(), storage=storage, name="s") as study:
        with pytest.raises(gs.ProtocolError, match="changed by another process"):
            study.ask()
        assert study.state.trials == {}
    with gs.Study(parabola(), strategy=changes[0], storage=storage, name="s") as study:
        assert study.run(2, progress=False).nit == 2  # nobody is thought to be deciding


def test_a_failed_evaluation_does_not_drop_the_answers_that_came_after_it():
    class AllAtOnce:
        def __init__(self) -> None:
            self.calls: list[tuple[Future[float], object]] = []

        def submit(self, call):
            self.calls.append((Future(), call))
            if len(self.calls) == 4:
                for number, (future, made) in enumerate(self.calls):
                    if number == 1:
                        future.set_exception(SystemExit("no licence"))
                    else:
                        future.set_result(made())
            return self.calls[-1][0]

    def give_up(_: gs.Trial) -> None:
        raise OSError("the disk is full")

    study = gs.Study(parabola(), strategy=gs.RandomSearch())
    with pytest.raises(OSError, match="the disk is full"):
        study.run(9, executor=AllAtOnce(), workers=4, callback=give_up, progress=False)
    assert [trial.number for trial in study.history] == [1, 3, 4]
    assert study.pending == []


def test_an_answer_whose_arrival_was_interrupted_is_kept(monkeypatch):
    def interrupted(work):
        value = work()
        if isinstance(value, tuple):  # the name of a query, taken from the queue
            raise KeyboardInterrupt
        return value

    monkeypatch.setattr("grisaille.study.run.interruptible", interrupted)
    study = gs.Study(parabola(), strategy=gs.RandomSearch())
    assert study.run(9, progress=False).status == gs.Status.INTERRUPTED
    assert len(study.history) == 1


@pytest.mark.parametrize("others", [0, 1, 2])
def test_a_process_that_decides_leaves_a_query_to_every_other_one_at_work(tmp_path, others):
    address = f"sqlite:///{tmp_path / 'study.db'}"
    studies = [
        gs.Study(parabola(), strategy=QUICK, name="a", storage=address) for _ in range(others + 1)
    ]
    for other in studies[1:]:
        decision = other._session.decide(Limits())
        other._session.start(decision)
        assert other._session.take() is not None
    left: list[int] = []

    def count(_trial: gs.Trial) -> bool:
        left.append(studies[0]._session.look(lambda state: len(list(state.waiting()))))
        return len(left) == 4

    # Evaluations take no time, so that suggestions are slow beside them.
    studies[0].run(20, callback=count, progress=False)
    assert max(left) == others
    for study in studies:
        study.close()
