"""Black boxes: how they are declared, called, evaluated and checked."""

import functools

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.errors import EvaluationError, ModelError, ProtocolError
from grisaille.language.program import Program
from tests.language.language_helpers import free, value_at, values_at


def answering(answer, **options):
    """A black box that gives this answer at any scalar input."""
    box = gs.BlackBox(lambda y: answer, name="h", **options)
    box(free("y"))
    return box


# --- declaring ---------------------------------------------------------------------------------
def test_the_decorator_works_without_parentheses():
    @gs.black_box
    def simulator(y):
        """Runs the simulator."""
        return 2 * y

    assert isinstance(simulator, gs.BlackBox)
    assert (simulator.name, simulator.outputs) == ("simulator", 1)
    assert simulator.__doc__ == "Runs the simulator."


def test_the_decorator_takes_the_options_of_a_black_box():
    @gs.black_box(outputs=2, noise=0.5, lower=-1, upper=[1, 2], name="plant", separable=False)
    def simulator(y):
        return y, y

    assert (simulator.name, simulator.outputs, simulator.separable) == ("plant", 2, False)
    np.testing.assert_array_equal(simulator.noise, [0.5, 0.5])
    np.testing.assert_array_equal(simulator.lower, [-1.0, -1.0])
    np.testing.assert_array_equal(simulator.upper, [1.0, 2.0])


def test_an_object_is_named_after_what_it_calls():
    class Plant:
        def __call__(self, y):
            return y

        def output(self, y):
            return y

    def simulator(y, scale):
        return y * scale

    assert gs.BlackBox(simulator).name == "simulator"
    assert gs.BlackBox(functools.partial(simulator, scale=2)).name == "simulator"
    assert gs.BlackBox(Plant()).name == "Plant"
    assert gs.BlackBox(Plant().output).name == "output"
    assert gs.BlackBox(lambda y: y, name="h").name == "h"


def scaled(y):
    return y


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fn": None}, "without a named function needs a name: pass name="),
        ({"fn": lambda y: y}, "without a named function needs a name: pass name="),
        ({"fn": 3}, "a black box needs a function, got 3"),
        ({"fn": 3, "name": "h"}, "a black box needs a function, got 3"),
        ({"outputs": 0}, "'scaled' has outputs=0: pass a number of at least 1, or names"),
        ({"outputs": True}, "has outputs=True: pass a number"),
        ({"outputs": 1.5}, r"has outputs=1\.5: pass a number"),
        ({"outputs": "ab"}, "has outputs='ab': pass a number of at least 1, or names"),
        ({"outputs": []}, r"has outputs=\[\]: pass a number"),
        ({"outputs": ["a", 1]}, r"has outputs=\['a', 1\]: pass a number"),
        ({"outputs": ["a", "a"]}, r"has outputs=\['a', 'a'\]: names must differ"),
        ({"noise": -1.0}, r"has noise -1\.0: a standard deviation is finite and at least 0"),
        ({"noise": np.inf}, "has noise inf: a standard deviation is finite"),
        ({"noise": np.nan}, "has noise=nan: NaN is no bound"),
        ({"noise": "small"}, "noise='small': pass one number, or one per output"),
        ({"noise": [1, 2]}, r"has 1 output but noise=\[1, 2\]: pass one number, or one per"),
        ({"lower": [1, 2, 3], "outputs": 2}, r"has 2 outputs but lower=\[1, 2, 3\]"),
        ({"lower": 1, "upper": 0}, r"lower=\[1\.0\] and upper=\[0\.0\]: each lower value must be"),
        ({"upper": np.nan}, "has upper=nan: NaN is no bound"),
        ({"input_lower": 1, "input_upper": 0}, r"input_lower=1\.0 and input_upper=0\.0: each"),
        ({"input_lower": [0, 0], "input_upper": [1, 1, 1]}, "each lower value must be below"),
        ({"input_lower": "a"}, "input_lower='a': pass one number, or one per input"),
        ({"input_upper": np.nan}, "input_upper=nan: NaN is no bound"),
        ({"norm_bound": 0}, r"has norm_bound=\[0\.0\]: it must be positive"),
        ({"norm_bound": np.inf}, r"has norm_bound=\[inf\]: it must be positive"),
        ({"norm_bound": [1, 2]}, r"has 1 output but norm_bound=\[1, 2\]"),
        *(
            ({"norm_bound": 2, **kernel}, r"norm_bound=2.*space of a given kernel: pass kernel=gs")
            for kernel in ({}, {"kernel": gs.Linear()}, {"model": lambda x, y: None})
        ),
        (
            {"monotone": "rising"},
            r"'scaled' has monotone='rising': pass 'increasing', 'decreasing'",
        ),
        ({"monotone": 1}, r"has monotone=1: pass 'increasing', 'decreasing' or None, one for all"),
        ({"monotone": [["increasing"], []]}, r"has monotone=\[\['increasing'\], \[\]\]: pass"),
        ({"lipschitz": -2}, r"has lipschitz=-2\.0: it must be positive"),
        ({"lipschitz": [1, np.inf]}, r"has lipschitz=\[1\.0, inf\]: it must be positive"),
        ({"kernel": gs.Matern(), "model": lambda x, y: None}, "both kernel= and model=: choose"),
        (
            {"kernel": gs.SquaredExponential(lengthscale=1.0, variance=1.0)},
            "a kernel with hyper-parameters, so nothing is learned, but no noise: pass noise=0",
        ),
    ],
)
def test_bad_declarations_are_refused_with_the_remedy(options, message):
    with pytest.raises(ModelError, match=message):
        gs.BlackBox(**{"fn": scaled, **options})


def test_lipschitz_constants_must_fit_inputs_and_outputs():
    x = gs.Variable("x", 3, lower=0, upper=1)
    for fitting in (2.0, [1, 2, 3], np.ones((2, 3))):
        gs.BlackBox(scaled, outputs=2, lipschitz=fitting)(x)
    with pytest.raises(ModelError, match=r"2 outputs of 3 inputs.*an array of shape \(2, 3\)"):
        gs.BlackBox(scaled, outputs=2, lipschitz=[1, 2])(x)


def test_directions_are_words_and_must_fit_inputs_and_outputs():
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(scaled, monotone=["increasing", None])
    assert box.monotone.tolist() == [1, 0]
    assert gs.BlackBox(scaled, monotone="decreasing").monotone.tolist() == -1
    assert gs.BlackBox(scaled).monotone is None
    gs.BlackBox(scaled, outputs=2, monotone=[["increasing", None], [None, "decreasing"]])(x)
    box(x)
    with pytest.raises(ModelError, match=r"1 output of 2 inputs, but monotone has shape \(3,\)"):
        gs.BlackBox(scaled, monotone=["increasing"] * 3)(x)


@pytest.mark.parametrize("mistake", ["h", 2])
def test_the_decorator_refuses_what_is_no_function(mistake):
    with pytest.raises(ModelError, match=f"a black box needs a function, got {mistake!r}"):
        gs.black_box(mistake)


def test_input_ranges_are_checked_against_the_first_call():
    box = gs.BlackBox(scaled, input_lower=[0, 0, 0])
    with pytest.raises(ModelError, match=r"takes 2 numbers, but input_lower has shape \(3,\)"):
        box(free("x", 2))


# --- calling -----------------------------------------------------------------------------------
def test_called_with_numbers_it_is_the_plain_function():
    @gs.black_box
    def h(x, *, scale=1.0):
        return scale * x

    assert h(3.0) == 3.0
    assert h(3.0, scale=2.0) == 6.0
    np.testing.assert_array_equal(h(np.array([1.0, 2.0])), [1.0, 2.0])
    assert h.argument_shapes is None


def test_a_scalar_arrives_as_a_float_and_an_array_with_its_shape():
    seen = []

    @gs.black_box
    def h(y, x, m):
        seen.append((type(y), x.shape, m.shape))
        return y + x @ m @ x

    y, x, m = free("y"), free("x", 2), free("m", (2, 2))
    value = value_at(h(y, x, m), {y: 1.0, x: [1.0, 2.0], m: [[1.0, 2.0], [3.0, 4.0]]})
    assert value == 1.0 + np.array([1, 2]) @ np.array([[1, 2], [3, 4]]) @ np.array([1, 2])
    assert seen == [(float, (2,), (2, 2))]
    assert h.inputs == 7


def test_a_function_cannot_change_its_caller_s_numbers():
    @gs.black_box
    def h(x):
        x *= 0
        return x.sum()

    h(free("x", 2))
    inputs = np.array([1.0, 2.0])
    h.evaluate(inputs)
    np.testing.assert_array_equal(inputs, [1.0, 2.0])


def test_one_output_is_a_scalar_and_several_are_a_vector():
    y = free("y")
    assert gs.BlackBox(scaled)(y).shape == ()
    assert gs.BlackBox(scaled, outputs=3)(y).shape == (3,)
    assert gs.BlackBox(scaled, outputs=["a"])(y).shape == (1,)


def test_vector_outputs_are_computed_at_several_points_at_once():
    h = gs.BlackBox(lambda x: (x.sum(), x.prod()), name="h", outputs=2)
    x = free("x", 2)
    np.testing.assert_array_equal(
        values_at(h(x)[::-1], {x: np.array([[1.0, 2.0], [3.0, 4.0]])}), [[2.0, 3.0], [12.0, 7.0]]
    )


def test_outputs_are_picked_by_name_or_position():
    h = gs.BlackBox(lambda y: [y, 10 * y], name="h", outputs=["cost", "purity"])
    y = free("y")
    assert value_at(h(y)["purity"], {y: 2.0}) == 20.0
    assert value_at(h(y)[0], {y: 2.0}) == 2.0
    assert repr(h(y)["purity"]) == repr(h(y)[1]) == "h(y)['purity']"


@pytest.mark.parametrize(
    ("outputs", "known"), [(["cost", "purity"], "'cost', 'purity'"), (2, "none")]
)
def test_an_unknown_output_name_is_answered_with_the_known_ones(outputs, known):
    h = gs.BlackBox(scaled, name="h", outputs=outputs)
    with pytest.raises(ModelError, match=f"'h' has no output named 'yield': its names are {known}"):
        h(free("y"))["yield"]


def test_keyword_arguments_find_their_places():
    h = gs.BlackBox(lambda a, b: a - b, name="h")
    a, b = free("a"), free("b")
    assert value_at(h(b=b, a=a), {a: 5.0, b: 3.0}) == 2.0
    assert len(Program([h(a, b), h(b=b, a=a), h(a, b=b)]).calls) == 1


def test_constants_are_allowed_among_the_arguments():
    h = gs.BlackBox(lambda y, c, v: y + c + v.sum(), name="h")
    y = free("y")
    assert value_at(h(y, 2, [1.0, 2.0]), {y: 5.0}) == 10.0
    assert h.inputs == 4


def test_a_list_of_expressions_is_one_vector_argument():
    h = gs.BlackBox(lambda x: x @ x, name="h")
    y, z = free("y"), free("z")
    assert value_at(h([y, z, 2]), {y: 1.0, z: 3.0}) == 14.0


def test_default_arguments_may_be_left_out():
    h = gs.BlackBox(lambda y, scale=3.0: scale * y, name="h")
    y = free("y")
    assert value_at(h(y), {y: 2.0}) == 6.0


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda h, y: h(y), r"black box 'h' is h\(a, b\): missing a required argument: 'b'"),
        (lambda h, y: h(y, y, y), r"black box 'h' is h\(a, b\): too many positional arguments"),
        (lambda h, y: h(y, c=y), r"black box 'h' is h\(a, b\): "),
        (lambda h, y: h(y, "text"), "'text' is neither an expression nor numbers"),
        (lambda h, y: h(y, y <= 0), "y <= 0 is a relation, not a value"),
        (lambda h, y: h(1.0, y <= 0), "y <= 0 is a relation, not a value"),
    ],
)
def test_wrong_arguments_are_refused_with_the_signature(mistake, message):
    with pytest.raises(ModelError, match=message):
        mistake(gs.BlackBox(lambda a, b: a + b, name="h"), free("y"))


def test_every_call_of_a_box_needs_the_same_shapes():
    h = gs.BlackBox(lambda a: 0.0, name="h")
    h(free("x", 2))
    with pytest.raises(
        ModelError, match=r"'h' takes 2 numbers \(\[2\]\), got 1 number \(scalar\): every call"
    ):
        h(free("y"))


def test_keyword_only_arguments_cannot_be_expressions():
    @gs.black_box
    def h(a, *, b):
        return a + b

    with pytest.raises(ModelError, match=r"keyword-only arguments \(b\): make them positional"):
        h(1.0, b=free("y"))


def test_a_box_without_a_function_is_symbolic_only():
    h = gs.BlackBox(None, name="rig", outputs=2)
    y = free("y")
    assert h(y, [1.0, 2.0]).shape == (2,)
    assert h.inputs == 3
    with pytest.raises(ProtocolError, match=r"'rig' has no function .* evaluated outside"):
        h(1.0)
    with pytest.raises(ProtocolError, match=r"'rig' has no function .* give it one to solve here"):
        h.evaluate(np.ones(3))


def test_a_box_that_was_never_called_does_not_know_its_inputs():
    h = gs.BlackBox(scaled)
    with pytest.raises(ProtocolError, match="'scaled' was never called with an expression"):
        _ = h.inputs
    with pytest.raises(ProtocolError, match="'scaled' was never called with an expression"):
        h.evaluate(np.ones(1))


# --- evaluating --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("answer", "outputs", "expected"),
    [
        (2, 1, [2.0]),
        (np.float32(0.5), 1, [0.5]),
        ([3.0], 1, [3.0]),
        (np.array([[3.0]]), 1, [3.0]),
        (torch.tensor([1.0, 2.0]), 2, [1.0, 2.0]),
        (torch.tensor([1.0, 2.0], requires_grad=True), 2, [1.0, 2.0]),
        ((torch.tensor(1.0, requires_grad=True), 2), 2, [1.0, 2.0]),
        ((1, 2), 2, [1.0, 2.0]),
        ([1, 2], ["a", "b"], [1.0, 2.0]),
        ({"b": 2, "a": 1, "c": 3}, ["a", "b"], [1.0, 2.0]),
    ],
)
def test_answers_of_many_kinds_become_flat_floats(answer, outputs, expected):
    value = answering(answer, outputs=outputs).evaluate(np.array([0.5]))
    assert value.dtype == float
    np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize(
    ("answer", "outputs", "message"),
    [
        (np.nan, 1, r"'h' at 0\.5 returned \[nan\]: every output must be a finite number"),
        (np.inf, 1, r"returned \[inf\]: every output must be a finite number"),
        ([1.0, np.nan], 2, r"returned \[1\.0, nan\]: every output must be a finite number"),
        ([1.0, None], 2, r"returned \[1\.0, nan\]: every output must be a finite number"),
        ([1, 2, 3], 2, r"returned 3 numbers \(shape \(3,\)\), declared with outputs=2: return 2 "),
        ([1, 2], 1, "return 1 number, or declare outputs=2"),
        (1.0, 2, r"returned 1 number \(shape \(\)\), declared with outputs=2"),
        ([], 1, r"returned 0 numbers \(shape \(0,\)\)"),
        ("12.5", 1, "returned '12.5': it must return 1 number"),
        (b"12.5", 1, "returned b'12.5': it must return 1 number"),
        (["1", "2"], 2, r"returned \['1', '2'\]: it must return 2 numbers"),
        (1j, 1, "returned 1j: it must return 1 number"),
        (np.complex128(1), 1, "it must return 1 number"),
        ([[1], [1, 2]], 2, "it must return 2 numbers"),
        (None, 1, r"returned None: it must return 1 number \(does it lack a return statement\?\)"),
        ({"a": 1}, 1, r"returned \{'a': 1\}: it must return 1 number"),
        ({"a": 1}, ["a", "b"], "values for 'a', but none for 'b'"),
        (True, 1, "returned True: it must return 1 number"),
        ([1.0, np.bool_(False)], 2, "it must return 2 numbers"),
        (np.ma.masked, 1, "returned masked: it must return 1 number"),
        ([1.0, np.ma.masked], 2, r"returned \[1\.0, masked\]: it must return 2 numbers"),
        (np.ma.masked_values([1.0, 1e37], 1e37), 2, "it must return 2 numbers"),
        (np.datetime64("2026-01-01"), 1, "it must return 1 number"),
        (np.timedelta64(3, "s"), 1, "it must return 1 number"),
        (np.array([1.0, "2"], object), 2, "it must return 2 numbers"),
        (np.array([1.0, np.complex128(2)], object), 2, "it must return 2 numbers"),
        (10**400, 1, "it must return 1 number"),
        (list(range(9000)), 1, r"returned 9000 numbers"),
        (["x"] * 9000, 1, r"returned \['x', 'x', .{160,200}…: it must return 1 number"),
    ],
)
def test_bad_answers_are_refused_with_the_input_and_the_answer(answer, outputs, message):
    with pytest.raises(EvaluationError, match=message):
        answering(answer, outputs=outputs).evaluate(np.array([0.5]))


def test_what_a_box_raised_is_chained_and_its_input_told():
    @gs.black_box
    def reactor(flow, temperatures):
        raise RuntimeError("no convergence")

    reactor(free("flow"), free("temperatures", 2))
    with pytest.raises(
        EvaluationError,
        match=r"'reactor' at 1\.5, \[300\. 350\.\] raised RuntimeError: no convergence",
    ) as caught:
        reactor.evaluate(np.array([1.5, 300.0, 350.0]))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_ctrl_c_inside_a_box_is_not_an_evaluation_error():
    def interrupted(y):
        raise KeyboardInterrupt

    box = gs.BlackBox(interrupted)
    box(free("y"))
    with pytest.raises(KeyboardInterrupt):
        box.evaluate(np.ones(1))


def test_answers_with_names_are_read_by_name():
    from typing import NamedTuple

    import pandas as pd

    class Answer(NamedTuple):
        b: float
        a: float

    box = gs.BlackBox(lambda x: x, name="h", outputs=["a", "b"])
    for answer in (
        {"b": 2.0, "a": 1.0},
        Answer(b=2.0, a=1.0),
        pd.Series({"b": 2.0, "a": 1.0}),
        pd.DataFrame({"b": [2.0], "a": [1.0]}),
        np.array((2.0, 1.0), dtype=[("b", float), ("a", float)]),
        np.ma.array([(2.0, 1.0)], dtype=[("b", float), ("a", float)])[0],
        pd.Series([1.0, 2.0]),  # no names of its own
        (1.0, 2.0),
    ):
        assert box.check(answer, "here").tolist() == [1.0, 2.0]


def test_names_that_are_not_those_of_the_outputs_are_refused():
    import pandas as pd

    box = gs.BlackBox(lambda x: x, name="h", outputs=["acid", "product"])
    masked = np.ma.array((2.0, 1.0), dtype=[("acid", float), ("product", float)])
    masked.mask = (True, False)
    for answer, message in (
        (pd.Series({"product yield": 2.0, "acidity": 1.0}), "none for 'acid'"),
        (masked, "it must return 2 numbers"),
    ):
        with pytest.raises(EvaluationError, match=message):
            box.check(answer, "here")


def test_an_exception_whose_text_raises_is_told_by_its_type():
    class SilentError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def silent(y):
        raise SilentError

    box = gs.BlackBox(silent)
    box(free("y"))
    with pytest.raises(
        EvaluationError, match=r"raised SilentError: \(no text: its __str__ raises\)"
    ):
        box.evaluate(np.ones(1))


def test_long_inputs_are_shown_by_their_ends():
    box = gs.BlackBox(lambda y: None, name="h")
    box(free("y", 5000))
    with pytest.raises(
        EvaluationError, match=r"'h' at \[0\. 0\. 0\. \.\.\. 0\. 0\. 0\.\]"
    ) as caught:
        box.evaluate(np.zeros(5000))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rbf"}, "pass gs.SquaredExponential"),
        ({"kernel": gs.Matern}, "pass gs.SquaredExponential"),
        ({"model": 3}, "returns a BoTorch model"),
        ({"separable": "no"}, "True or False"),
    ],
)
def test_bad_options_are_refused_when_the_box_is_made(options, message):
    with pytest.raises(gs.ModelError, match=message):
        gs.BlackBox(lambda x: x, name="h", **options)


def test_a_box_of_a_box_is_refused():
    with pytest.raises(gs.ModelError, match="needs a function, got BlackBox"):
        gs.black_box(gs.BlackBox(lambda x: x, name="h"))


@pytest.mark.parametrize(
    ("fn", "declared", "separable"),
    [(None, None, False), (None, True, True), (abs, None, True), (abs, False, False)],
)
def test_what_people_and_machines_answer_is_evaluated_along_the_chain(fn, declared, separable):
    assert gs.BlackBox(fn, name="f", separable=declared).separable is separable
