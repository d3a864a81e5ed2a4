"""Unknowns start where equations and the latest answers put them."""

import numpy as np
import pytest

import grisaille as gs
from grisaille.lab.problems import catalogue
from grisaille.lab.problems.plants import FEED, react, recover
from grisaille.records import History
from grisaille.strategies.initial_design import with_likely_unknowns

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=2, samples=64, iterations=5))


def flowsheet():
    problem = catalogue()["recycle_loop"](0).problem
    columns = problem.program.columns
    return problem, {v.name: columns[v] for v in problem.variables}


def test_known_balances_hold_in_every_point_of_the_initial_design():
    problem, columns = flowsheet()
    result = problem.solve(15, strategy=QUICK, callback=lambda t: t.number == 4, progress=False)
    for trial in result.history:
        purge = trial.x[columns["purge"]][0]
        inert = trial.x[columns["recycle"]][1]
        assert inert == pytest.approx(min(FEED[1] * (1 - purge) / purge, 25.0), rel=1e-6)


def test_what_came_back_goes_in_next_once_the_stream_was_spread():
    problem, columns = flowsheet()
    result = problem.solve(30, strategy=QUICK, callback=lambda t: t.number == 6, progress=False)
    streams = [trial.x[columns["recycle"]][0] for trial in result.history]
    followed = 0
    for count in range(1, len(streams)):
        latest = result.history.trials[count - 1]
        x = {name: latest.x[columns[name]] for name in columns}
        left = react(FEED + x["recycle"], x["temperature"][0])[0]
        recovered = recover(x["reflux"][0], left + FEED[1] + x["recycle"][1]) * left
        back = (1 - x["purge"][0]) * recovered
        spread = np.ptp(streams[:count]) >= 15  # a quarter of [0, 60]
        assert (streams[count] == pytest.approx(back)) == spread
        followed += spread
    assert followed


@pytest.mark.slow
def test_a_loop_that_is_drawn_to_one_solution_does_not_hide_the_others():
    # t = t^3: what comes back goes to 0, but t = 1 is better.
    x = gs.Variable("x", lower=0, upper=1)
    t = gs.Unknown("t", lower=-1.5, upper=1.5)
    box = gs.BlackBox(lambda x, t: t**3, name="phi", noise=0)
    problem = gs.Problem(minimize=(t - 0.6) ** 2 + 0.1 * x, equations=[t == box(x, t)])
    search = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256, iterations=20), initial=4)
    assert problem.solve(20, strategy=search, progress=False).fun == pytest.approx(0.16, abs=1e-3)


def test_the_initial_design_is_as_long_as_decisions_need():
    problem, _ = flowsheet()  # 3 decisions and 2 unknowns
    result = problem.solve(40, strategy=QUICK, callback=lambda t: t.number == 9, progress=False)
    kinds = [t.suggestion.kind.name for t in result.history]
    assert kinds[:8] == ["INITIAL"] * 8
    assert kinds[8] != "INITIAL"


def test_without_unknowns_a_point_stays_what_it_is():
    x = gs.Variable("x", 2, lower=0, upper=1)
    problem = gs.Problem(minimize=np.sum(x))
    point = np.array([0.2, 0.3])
    assert with_likely_unknowns(problem, History(), point) is point
