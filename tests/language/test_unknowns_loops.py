"""What known equations and answers say of the unknowns of a problem."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.language.unknowns import Loops


def test_extrapolation_of_a_linear_loop_is_exact_after_as_many_rounds_as_it_has_streams():
    x = gs.Variable("x", lower=0, upper=1)
    t = gs.Unknown("t", shape=2, lower=-50, upper=50)
    box = gs.BlackBox(lambda x, t: t, name="phi", outputs=2, noise=0)
    problem = gs.Problem(minimize=np.sum(t), equations=[t == box(x, t) + x])
    loops, matrix = Loops(problem), np.array([[0.5, 0.3], [-0.4, 0.2]])
    start = np.zeros(3)
    points, images = [start], [np.ones(2)]
    for _ in range(3):
        points.append(loops.next_point(points, images))
        images.append(matrix @ points[-1][loops.torn] + 1)
    assert points[-1][loops.torn] == pytest.approx(np.linalg.solve(np.eye(2) - matrix, [1, 1]))


def test_equations_without_black_boxes_are_solved_before_anything_is_evaluated():
    x = gs.Variable("x", lower=1, upper=4)
    t = gs.Unknown("t", shape=2, lower=0, upper=5)
    box = gs.BlackBox(lambda x, t: t[0], name="phi", noise=0)
    back = [box(x, t), np.sqrt(x) + 0.1 * np.sin(t[1])]
    problem = gs.Problem(minimize=x, equations=[t[0] == back[0], t[1] == back[1]])
    order = [v.name for v in problem.variables]
    point = np.concatenate([{"x": [2.0], "t": [1.0, 0.0]}[name] for name in order])
    found = Loops(problem).settled(point)
    columns = problem.program.columns
    assert found[columns[x]] == pytest.approx([2.0])
    first, second = found[columns[t]]
    assert first == 1.0  # a black box says what it is
    assert second == pytest.approx(np.sqrt(2.0) + 0.1 * np.sin(second), abs=1e-12)


def test_an_array_equation_is_taken_entry_by_entry():
    x = gs.Variable("x", lower=1, upper=4)
    t = gs.Unknown("t", shape=2, lower=0, upper=5)
    box = gs.BlackBox(lambda x, t: t[0], name="phi", noise=0)
    joined = np.stack([box(x, t), np.sqrt(x) * np.ones(())])
    problem = gs.Problem(minimize=x, equations=[t == joined])
    middle = (problem.program.lower + problem.program.upper) / 2
    found = Loops(problem).settled(middle)[problem.program.columns[t]]
    assert found == pytest.approx([2.5, np.sqrt(2.5)])


def test_loops_are_closed_on_whatever_answers():
    x = gs.Variable("x", lower=0, upper=1)
    t = gs.Unknown("t", lower=-2, upper=2)
    v = gs.Unknown("v", lower=0, upper=2)
    box = gs.BlackBox(lambda x, t: t, name="phi", noise=0)
    problem = gs.Problem(minimize=v, equations=[t == box(x, t), v**2 == 1 + t])
    columns = problem.program.columns
    start = np.zeros(3)
    start[columns[x]], start[columns[v]] = 0.8, 1.0

    def resolve(_call, states):
        return 0.5 * torch.cos(states[:, 1:]) * states[:, :1]

    found = Loops(problem).closed(start, resolve)
    (one,), (other,) = found[columns[t]], found[columns[v]]
    assert one == pytest.approx(0.5 * np.cos(one) * 0.8, abs=1e-10)
    assert other == pytest.approx(np.sqrt(1 + one), abs=1e-10)
    assert found[columns[x]] == 0.8


def test_whether_a_loop_can_be_gone_around():
    x = gs.Variable("x", lower=0, upper=1)
    t = gs.Unknown("t", lower=-2, upper=2)
    box = gs.BlackBox(lambda x, t: t, name="phi", noise=0)
    assert Loops(gs.Problem(minimize=x, equations=[t == box(x, t)])).can_go_around
    assert not Loops(gs.Problem(minimize=x, equations=[box(x, t) == 1.0])).can_go_around
    assert not Loops(gs.Problem(minimize=box(x, x))).can_go_around
