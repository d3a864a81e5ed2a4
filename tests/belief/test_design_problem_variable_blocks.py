"""Which design entries black boxes read, compared with how problems were written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import grisaille as gs
from grisaille.belief.design_problem import (
    blocks_of,
    design_problem,
    entries_read,
    with_tried_parts,
)
from grisaille.records import History
from tests.belief.belief_helpers import trial_at


def box(name):
    return gs.BlackBox(lambda *parts: 0.0, name=name, noise=0)


def wide_problem(size=16):
    x = gs.Variable("x", size, lower=1, upper=2)
    label = gs.Choice("label", ["A", "B"])
    first = box("first")(x[:3], np.log(x[4]))
    second = box("second")(x[3] * x[4], label == "A", first)
    return gs.Problem(minimize=first + second + x[5] ** 2)


def positions(reads):
    return [np.flatnonzero(read).tolist() for read in reads]


def test_calls_read_what_their_arguments_name_and_nothing_through_other_calls():
    problem = wide_problem()
    order = [v.name for v in problem.variables]
    assert order == ["x", "label"]
    assert positions(entries_read(problem.program)) == [[0, 1, 2, 4], [3, 4, 16]]


def test_a_block_has_the_eta_of_its_call_and_the_rest_is_one_too():
    program = wide_problem().program
    controls = [call.columns for call in program.calls]
    blocks = blocks_of(program, program.size + program.box_outputs, controls)
    found = [block.tolist() for block in blocks.entries]
    assert found == [[0, 1, 2, 4, 17], [3, 4, 16, 18], list(range(5, 16))]
    without = blocks_of(program, program.size)
    assert [b.tolist() for b in without.entries] == [[0, 1, 2, 4], [3, 4, 16], list(range(5, 16))]


def test_few_entries_and_entries_that_are_all_read_together_have_no_blocks():
    program = wide_problem(8).program
    assert blocks_of(program, program.size) is None
    x = gs.Variable("x", 20, lower=0, upper=1)
    program = gs.Problem(minimize=box("all")(x)).program
    assert blocks_of(program, program.size + 1, [slice(0, 1)]) is None


def test_entries_that_linear_inequalities_tie_together_have_no_blocks():
    x = gs.Variable("x", 16, lower=0, upper=1)
    goal = box("left")(x[:8]) + box("right")(x[8:])
    assert blocks_of(gs.Problem(minimize=goal).program, 16) is not None
    tied = gs.Problem(minimize=goal, subject_to=[np.sum(x) <= 1])
    assert blocks_of(tied.program, 16) is None


def test_what_was_tried_is_given_to_the_search_in_search_coordinates():
    x = gs.Variable("x", 16, lower=1, upper=100, log=True)
    problem = gs.Problem(minimize=box("left")(x[:8]) + box("right")(x[8:]))
    program = problem.program
    points = np.random.default_rng(0).uniform(1, 100, (300, 16))
    history = History(tuple(trial_at(problem, i, p) for i, p in enumerate(points, 1)))
    search = design_problem(program, lambda design: (design.sum(1), design[:, :0]))
    assert with_tried_parts(search, program, history) is search
    search = replace(search, blocks=blocks_of(program, 16))
    donors = with_tried_parts(search, program, history).blocks.donors
    np.testing.assert_allclose(donors.numpy(), np.log(points[-256:]))
