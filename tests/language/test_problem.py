"""Problems: one scalar objective, constraints that say something, names that differ."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.language.expression import Constant
from grisaille.language.program import Program
from tests.language.language_helpers import free, really


def evaluated(problem, *point):
    """The program's outputs at one flat design point."""
    x = torch.tensor([point], dtype=torch.float64)
    return [value[0].tolist() for value in problem.program.run(x, really)]


# --- the objective -----------------------------------------------------------------------------
def test_a_problem_needs_one_objective():
    y = free("y")
    for objectives in ({}, {"minimize": y, "maximize": y}):
        with pytest.raises(ModelError, match="one objective: pass either minimize= or maximize="):
            gs.Problem(**objectives)


def test_minimizing_keeps_the_sign_and_maximizing_turns_it():
    y = free("y")
    least, most = gs.Problem(minimize=y**2), gs.Problem(maximize=y**2)
    assert (least.sense, evaluated(least, 3.0)) == (1, [9.0])
    assert (most.sense, evaluated(most, 3.0)) == (-1, [-9.0])
    assert repr(most.objective) == "y**2"


def test_maximizing_leaves_the_constraints_as_they_are():
    y = free("y")
    problem = gs.Problem(maximize=y, subject_to=[y <= 1, y >= -2])
    assert evaluated(problem, 3.0) == [-3.0, 2.0, -5.0]


def test_an_objective_with_one_entry_counts_as_a_number():
    x = free("x", 1)
    assert evaluated(gs.Problem(minimize=x), 2.0) == [2.0]


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (
            lambda x: x,
            r"the objective x has shape \(2,\): it must be one number.*one entry.*np.sum",
        ),
        (lambda x: [x[0], x[1]], r"is a list of 2, .*one objective: weigh them .*a \+ 2 \* b, or"),
        (lambda x: x[0] <= 1, r"x\[0\] <= 1 is a relation, not a value"),
        (lambda x: "x", "'x' is neither an expression nor numbers"),
        (lambda x: 3.0, "the problem has no variable.*build them from a gs.Variable"),
        (lambda x: np.nan, "the constant nan contains NaN"),
    ],
)
def test_an_objective_that_is_no_scalar_expression_is_refused(objective, message):
    with pytest.raises(ModelError, match=message):
        gs.Problem(minimize=objective(free("x", 2)))


def test_a_problem_needs_no_black_box():
    assert gs.Problem(minimize=free("y") ** 2).boxes == ()


# --- the constraints ---------------------------------------------------------------------------
def test_constraints_come_alone_in_a_list_or_from_a_generator():
    x = free("x", 2)
    assert len(gs.Problem(minimize=x[0], subject_to=x[0] <= 1).constraints) == 1
    assert len(gs.Problem(minimize=x[0], subject_to=(x[0] <= 1,)).constraints) == 1
    assert len(gs.Problem(minimize=x[0], subject_to=(e <= 1 for e in x)).constraints) == 2


def test_array_constraints_count_entry_by_entry():
    x, y = free("x", 3), free("y")
    problem = gs.Problem(minimize=y, subject_to=[x <= [1, 2, 3], y >= 0])
    assert problem.constraint_names == [
        "x <= [1., 2., 3.]  [0]",
        "x <= [1., 2., 3.]  [1]",
        "x <= [1., 2., 3.]  [2]",
        "y >= 0",
    ]
    assert evaluated(problem, 5.0, 1.0, 1.0, 4.0) == [5.0, [0.0, -1.0, 1.0], -5.0]


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (True, r"subject_to\[1\] is True, a plain value: it compares numbers, not expressions"),
        (np.float64(1) <= 2, r"subject_to\[1\] is np.True_, a plain value"),
        (np.ones(2) <= 3, r"subject_to\[1\] is array\(\[ True,  True\]\), a plain value"),
        (np.zeros(2), r"subject_to\[1\] is array\(.*\), a plain value"),
        (None, r"subject_to\[1\] is None: constraints are written a <= b, a >= b or a == b"),
        (0.0, r"subject_to\[1\] is 0.0: constraints are written"),
        ("y <= 1", r"subject_to\[1\] is 'y <= 1': constraints are written"),
    ],
)
def test_plain_values_among_the_constraints_are_refused_by_number(constraint, message):
    y = free("y")
    with pytest.raises(ModelError, match=message):
        gs.Problem(minimize=y, subject_to=[y <= 1, constraint])


def test_a_bare_expression_among_the_constraints_is_told_to_compare():
    y = free("y")
    message = r"subject_to\[0\] is the expression y \+ 1: compare it .*, for example y \+ 1 <= 0"
    for given in ([y + 1], y + 1):
        with pytest.raises(ModelError, match=message):
            gs.Problem(minimize=y, subject_to=given)


@pytest.mark.parametrize("given", [True, None, 3])
def test_a_single_plain_value_is_refused_too(given):
    with pytest.raises(ModelError, match=rf"subject_to\[0\] is {given}"):
        gs.Problem(minimize=free("y"), subject_to=given)


def test_a_constraint_that_reads_no_variable_is_refused():
    y = free("y")
    constant = gs.Constraint(Constant(1.0), Constant(2.0))
    with pytest.raises(ModelError, match=r"constraint 1 \(1 <= 2\) reads no variable: leave it"):
        gs.Problem(minimize=y, subject_to=[y <= 1, constant])


# --- variables, boxes and names ------------------------------------------------------------------
def test_variables_and_boxes_are_found_in_objective_and_constraints():
    x, y, z = free("x"), free("y"), free("z")
    g, h = (gs.BlackBox(lambda a: a, name=name) for name in "gh")
    problem = gs.Problem(minimize=h(y) + x, subject_to=[g(z) + h(x) <= 1])
    assert problem.variables == (y, x, z)
    assert problem.boxes == (h, g)


def test_two_variables_of_one_name_are_refused():
    with pytest.raises(ModelError, match="two different variables are named 'y': give each its"):
        gs.Problem(minimize=free("y") + free("y"))


def test_two_boxes_of_one_name_are_refused():
    y = free("y")
    first, second = (gs.BlackBox(lambda a: a, name="h") for _ in range(2))
    with pytest.raises(ModelError, match="two different black boxes are named 'h': give each its"):
        gs.Problem(minimize=first(y), subject_to=[second(y) <= 0])


def test_a_cycle_is_refused():
    y = free("y")
    first = y + 1
    last = np.sin(first * 2)
    first.arguments = (last, first.arguments[1])
    with pytest.raises(ModelError, match="the model has a cycle: Operation reads its own value"):
        gs.Problem(minimize=last)


def test_a_box_that_reads_itself_is_a_cycle():
    y = free("y")
    call = gs.BlackBox(lambda a: a, name="h")(y)
    object.__setattr__(call, "arguments", (call,))
    with pytest.raises(ModelError, match="the model has a cycle: Call reads its own value"):
        gs.Problem(minimize=y, subject_to=[call <= 0])


def test_an_expression_of_another_problem_is_refused():
    x, y, stranger = free("x"), free("y"), free("z")
    problem = gs.Problem(minimize=x + y)
    with pytest.raises(
        ModelError, match=r"reads variable 'z', which is not part of this problem \(it has 'x', 'y'"
    ):
        Program([x + stranger], problem.variables)


def test_a_problem_prints_as_mathematics():
    y = free("y")
    h = gs.BlackBox(lambda a: a, name="h")
    assert repr(gs.Problem(maximize=h(y) - y, subject_to=[h(y) >= 1, y**2 <= 4])) == (
        "maximize h(y) - y\n  subject to h(y) >= 1\n  subject to y**2 <= 4"
    )
