"""Programs: expressions as one topologically ordered pass, shared parts computed once."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.language.expression import Constant
from grisaille.language.program import Program
from tests.language.language_helpers import free, really, value_at


def box(name="h", **options):
    return gs.BlackBox(lambda *arguments: 0.0, name=name, **options)


def points(*rows):
    return torch.tensor(rows, dtype=torch.float64)


class Recorder:
    """A resolver that remembers what it was asked, and answers the row sums."""

    def __init__(self):
        self.asked = []

    def __call__(self, call, states):
        self.asked.append((call.box.name, states.tolist()))
        return states.sum(1, keepdim=True).expand(-1, call.box.outputs)


# --- merging -----------------------------------------------------------------------------------
def test_equal_calls_merge_into_one_node():
    x, h = free("x", 2), box()
    program = Program([h(2 * x) + h(2 * x), h(2.0 * x) ** 2, np.exp(h(np.multiply(2, x)))])
    assert len(program.calls) == 1


def test_equal_constants_are_one_node():
    y = free("y")
    program = Program([y + 2, y * 2.0, y - np.array(2.0)])
    assert sum(isinstance(n.expression, Constant) for n in program.nodes) == 1


def test_different_parameters_are_different_nodes():
    x = free("x", (2, 3))
    program = Program([np.sum(x, axis=0)[0], np.sum(x, axis=1)[0], x[0, 0], x[0, 1]])
    assert len(set(program.outputs)) == 4


def test_a_constant_of_another_shape_is_another_node():
    x = free("x", 2)
    program = Program([x * np.ones(2), x * np.ones((1, 2))])
    assert len(set(program.outputs)) == 2


def test_one_box_at_two_places_is_one_box_and_two_calls():
    u, v, h = free("u"), free("v"), box()
    program = Program([h(u) + h(v)])
    assert program.boxes == (h,)
    assert len(program.calls) == 2
    assert len({call.key for call in program.calls}) == 2


def test_two_boxes_of_one_function_are_two_boxes():
    y = free("y")
    assert len(Program([box("g")(y) + box("h")(y)]).boxes) == 2


def test_objective_and_constraints_share_nodes():
    x, h, recorder = free("x", 2), box(outputs=2), Recorder()
    problem = gs.Problem(minimize=h(x)[0], subject_to=[h(x)[1] <= 1, h(x) >= 0])
    problem.program.run(points([1, 2], [3, 4]), recorder)
    assert recorder.asked == [("h", [[1, 2], [3, 4]])]


def test_equal_calls_of_two_programs_have_equal_keys():
    x, h = free("x", 2), box()
    first, second = Program([h(2 * x)]), Program([np.exp(x[0]) + h(x * 3), h(2 * x)])
    keys = [call.key for call in second.calls]
    assert first.calls[0].key in keys
    assert len(set(keys)) == 2


# --- order and layers ----------------------------------------------------------------------------
def test_every_node_comes_after_what_it_reads():
    x, g, h = free("x", 2), box("g"), box("h")
    program = Program([h(g(x) + x[0]) * g(x), np.sum(x)])
    assert all(a < i for i, node in enumerate(program.nodes) for a in node.arguments)


def test_first_layer_calls_read_no_other_box():
    x, y = free("x", 2), free("y")
    inner, outer, beside, last = (box(n) for n in ("inner", "outer", "beside", "last"))
    z = inner(x)
    program = Program([outer(np.exp(z) + y) + beside(y**2, 3.0) + last(x, y, z)])
    assert {call.box.name: call.first_layer for call in program.calls} == {
        "inner": True,
        "outer": False,
        "beside": True,
        "last": False,
    }


def test_output_columns_follow_one_another():
    y, f, g, h = free("y"), box("f", outputs=2), box("g"), box("h", outputs=3)
    program = Program([np.sum(f(y)) + g(y) + np.sum(h(y)) + g(2 * y)])
    assert [(c.box.name, c.columns) for c in program.calls] == [
        ("f", slice(0, 2)),
        ("g", slice(2, 3)),
        ("h", slice(3, 6)),
        ("g", slice(6, 7)),
    ]
    assert program.box_outputs == 7


# --- variables -----------------------------------------------------------------------------------
def test_a_flat_point_lists_the_variables_in_order_of_appearance():
    a, x, y = free("a"), free("x", 2), gs.Variable("y", (2, 2), lower=-1, upper=[[1, 2], [3, 4]])
    program = Program([np.sum(y) + x[1], a])
    assert program.variables == (y, x, a)
    assert program.size == 7
    np.testing.assert_array_equal(program.lower, [-1, -1, -1, -1, -100, -100, -100])
    np.testing.assert_array_equal(program.upper, [1, 2, 3, 4, 100, 100, 100])


def test_the_order_of_variables_can_be_given_and_may_hold_more():
    a, b, c = free("a"), free("b"), free("c")
    (value,) = Program([a - b], [c, b, a]).run(points([100, 2, 5]), really)
    assert value.tolist() == [3.0]


# --- running -------------------------------------------------------------------------------------
def test_the_resolver_sees_states_of_shape_batch_by_inputs():
    x, y, m, h = free("x", 2), free("y"), free("m", (1, 2)), box()
    recorder = Recorder()
    program = Program([h(y, x, m, 7.0)], [x, y, m])
    (value,) = program.run(points([1, 2, 3, 4, 5], [10, 20, 30, 40, 50]), recorder)
    assert recorder.asked == [("h", [[3, 1, 2, 4, 5, 7], [30, 10, 20, 40, 50, 7]])]
    assert value.tolist() == [22, 157]


def test_a_box_sees_only_the_inputs_it_was_given():
    x, g, h, recorder = free("x", 3), box("g"), box("h"), Recorder()
    Program([g(x[0]) + h(x[[2, 1]])]).run(points([1, 2, 3]), recorder)
    assert recorder.asked == [("g", [[1]]), ("h", [[3, 2]])]


def test_the_resolver_decides_what_a_run_means():
    y, h = free("y"), gs.BlackBox(lambda y: y**2, name="h")
    program = Program([h(y) + 1])
    at = points([3], [4])
    assert program.run(at, really)[0].tolist() == [10, 17]
    assert program.run(at, lambda call, states: 0 * states)[0].tolist() == [1, 1]


def test_gradients_flow_through_the_resolver():
    y, h = free("y"), box()
    at = points([3.0]).requires_grad_()
    (value,) = Program([h(2 * y) * y]).run(at, lambda call, states: states**2)
    value.sum().backward()
    assert at.grad.tolist() == [[12 * 3.0**2]]  # (2 y)^2 y = 4 y^3


def test_every_output_has_the_batch_even_a_constant_one():
    y = free("y")
    values = Program([y * np.ones((2, 3)), Constant([1.0, 2.0])], [y]).run(points(*[[1]] * 5), None)
    assert [tuple(v.shape) for v in values] == [(5, 2, 3), (5, 2)]


def test_values_are_computed_in_double_precision():
    y = free("y")
    assert Program([np.exp(y) + 1]).run(points([1.0]), None)[0].dtype == torch.float64


def test_no_points_give_no_values():
    x, h = free("x", 3), box(outputs=2)
    expression = np.concatenate([h(x[:2]), x[1:]]) * 2
    (value,) = Program([expression]).run(torch.zeros(0, 3, dtype=torch.float64), Recorder())
    assert tuple(value.shape) == (0, 4)


# --- depth ---------------------------------------------------------------------------------------
def test_three_thousand_operations_in_a_chain_compile_run_and_differentiate():
    y = free("y")
    expression, expected = y, 0.5
    for _ in range(1500):
        expression, expected = np.sin(expression) + 1, np.sin(expected) + 1
    program = Program([expression])
    assert len(program.nodes) > 3000
    at = points([0.5]).requires_grad_()
    (value,) = program.run(at, None)
    assert value.item() == pytest.approx(expected, rel=1e-12)
    value.sum().backward()
    assert torch.isfinite(at.grad).all()
    assert len(repr(expression)) <= 72


def test_three_hundred_box_calls_in_a_chain_compile_run_and_draw():
    y, h = free("y"), gs.BlackBox(lambda y: 0.5 * y + 1, name="h")
    expression = y
    for _ in range(300):
        expression = h(expression)
    problem = gs.Problem(minimize=expression)
    assert len(problem.program.calls) == 300
    assert [c.first_layer for c in problem.program.calls].count(True) == 1
    assert value_at(expression, {y: 10.0}) == pytest.approx(2.0)
    assert "h #300" in problem.diagram()


def test_doubling_an_expression_a_hundred_times_stays_cheap():
    y = free("y")
    expression = y
    for _ in range(100):
        expression = expression + expression
    assert len(Program([expression]).nodes) == 101
    assert value_at(expression, {y: 1.0}) == 2.0**100
