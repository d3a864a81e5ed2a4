"""What observations say about each black box: when, from what and in which units it is learned."""

import itertools

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief import learning
from grisaille.belief.learning import believe, contradiction, milestone
from grisaille.belief.processes.likelihood import Data, given, learn
from grisaille.belief.processes.posterior import (
    CondensedPosterior,
    ModelSurrogate,
    NoFactorError,
    Posterior,
    typical_rows,
)
from grisaille.errors import ModelError
from grisaille.records import History, Observation
from tests.belief.belief_helpers import history_at, known_kernel, random_design

pytestmark = pytest.mark.slow


def square(name="x", shape=2):
    return gs.Variable(name, shape, lower=0, upper=1)


def observed(name, inputs, outputs):
    """A history that holds answers of one box only."""
    return History(
        loose=tuple(
            Observation(name, np.atleast_1d(np.asarray(x, float)), np.atleast_1d(y))
            for x, y in zip(inputs, np.asarray(outputs, float), strict=True)
        )
    )


@pytest.fixture
def asked(monkeypatch):
    """What hyper-parameters were learned from, in order."""
    requests = []

    class Noted(Data):
        def __init__(self, kernel, noise, inputs, outputs, lower, upper, surely_noisy):
            super().__init__(kernel, noise, inputs, outputs, lower, upper, surely_noisy)
            requests.append(
                {
                    "kernel": kernel,
                    "noise": noise,
                    "inputs": inputs,
                    "outputs": outputs,
                    "lower": lower.tolist(),
                    "upper": upper.tolist(),
                    "surely_noisy": surely_noisy,
                }
            )

    def known(data):
        return given(
            known_kernel(),
            np.zeros(data.standard.shape[1]),
            data.unit.shape[1],
            data.standard.shape[1],
        )

    monkeypatch.setattr(learning, "Data", Noted)
    monkeypatch.setattr(learning, "learn", known)
    return requests


# --- milestones ----------------------------------------------------------------------------------
def test_up_to_twenty_observations_every_one_counts():
    assert [milestone(n) for n in range(21)] == list(range(21))


def test_later_hyperparameters_are_learned_again_after_five_percent_more():
    reached = sorted({milestone(n) for n in range(2000)})
    steps = [b / a - 1 for a, b in itertools.pairwise(reached) if a >= 20]
    assert all(step >= 0.05 for step in steps)
    assert all(b - 1 < 1.05 * a for a, b in itertools.pairwise(reached) if a >= 20)
    # 20 -> 21 -> ceil(22.05) = 23 -> ceil(24.15) = 25, ..., 39 -> ceil(40.95) = 41 -> 44 -> 47
    assert [milestone(n) for n in range(20, 27)] == [20, 21, 21, 23, 23, 25, 25]
    assert [milestone(n) for n in range(39, 49)] == [39, 39, 41, 41, 41, 44, 44, 44, 47, 47]


def test_a_milestone_is_reached_and_never_lost_again():
    values = [milestone(n) for n in range(2000)]
    assert all(0 < m <= n for n, m in enumerate(values) if n)
    assert values == sorted(values)
    assert all(milestone(m) == m for m in set(values))


# --- what is learned from ------------------------------------------------------------------------
def test_only_observations_up_to_the_milestone_are_learned_from_but_all_are_known():
    x = square(shape=1)
    h = gs.BlackBox(lambda x: float(np.sin(5 * x[0])), name="h", noise=0)
    problem = gs.Problem(minimize=h(x))
    history = history_at(problem, random_design(problem, 43))
    inputs, outputs = history.data("h", 1, 1)
    (posterior,) = believe(problem.program, history).values()
    assert milestone(43) == 41
    data = Data(gs.Matern(2.5), h.noise, inputs[:41], outputs[:41], np.zeros(1), np.ones(1))
    expected = learn(data)
    assert posterior.hyperparameters is expected
    np.testing.assert_array_equal(posterior.inputs, inputs)
    scratch = Posterior(gs.Matern(2.5), expected, torch.tensor(inputs), torch.tensor(outputs))
    at = torch.linspace(0, 1, 50, dtype=torch.float64)[:, None]
    for ours, theirs in zip(posterior.predict(at), scratch.predict(at), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


def test_beliefs_do_not_depend_on_what_was_believed_before():
    x = square(shape=1)
    h = gs.BlackBox(lambda x: float(np.sin(5 * x[0])), name="h", noise=0)
    problem = gs.Problem(minimize=h(x))
    history = history_at(problem, random_design(problem, 25))
    at = torch.linspace(0, 1, 20, dtype=torch.float64)[:, None]
    fresh = believe(problem.program, history)["h"].predict(at)
    for n in range(1, 25):
        believe(problem.program, History(history.trials[:n]))
    again = believe(problem.program, history)["h"].predict(at)
    for one, other in zip(fresh, again, strict=True):
        assert torch.equal(one, other)


def test_a_box_at_two_places_learns_from_both():
    x = square()
    h = gs.BlackBox(lambda s: 3 * s, name="h", kernel=known_kernel(), noise=0)
    problem = gs.Problem(minimize=h(x[0]) + h(x[1]))
    history = history_at(problem, [[0.1, 0.2], [0.3, 0.4]])
    believed = believe(problem.program, history)
    assert list(believed) == ["h"]
    assert believed["h"].inputs[:, 0].tolist() == [0.1, 0.2, 0.3, 0.4]
    assert believed["h"].outputs[:, 0].tolist() == pytest.approx([0.3, 0.6, 0.9, 1.2])


def test_each_box_learns_from_its_own_answers():
    x = square()
    g = gs.BlackBox(lambda s: s, name="g", kernel=known_kernel(), noise=0)
    h = gs.BlackBox(lambda x: x.sum(), name="h", kernel=known_kernel(2.0), noise=0)
    problem = gs.Problem(minimize=g(x[0]) + h(x))
    believed = believe(problem.program, history_at(problem, [[0.1, 0.2], [0.3, 0.4]]))
    assert believed["g"].inputs.tolist() == [[0.1], [0.3]]
    assert believed["h"].inputs.tolist() == [[0.1, 0.2], [0.3, 0.4]]


def test_answers_of_a_trial_that_broke_off_are_learned_from_too():
    x = square(shape=1)
    h = gs.BlackBox(lambda x: x[0], name="h", kernel=known_kernel(), noise=0)
    problem = gs.Problem(minimize=h(x))
    history = history_at(problem, [[0.25]])
    loose = (Observation("h", np.array([0.75]), np.array([0.5])),)
    believed = believe(problem.program, History(history.trials, loose))["h"]
    assert believed.inputs.tolist() == [[0.25], [0.75]]


# --- kernels and noise ---------------------------------------------------------------------------
def test_without_a_kernel_a_matern_of_smoothness_two_and_a_half_is_learned(asked):
    h = gs.BlackBox(lambda x: 0.0, name="h")
    problem = gs.Problem(minimize=h(square()))
    believe(problem.program, observed("h", [[0.1, 0.2]], [1.0]))
    assert asked[0]["kernel"] == gs.Matern(2.5)
    assert asked[0]["noise"] is None
    assert not asked[0]["surely_noisy"]


@pytest.mark.parametrize("kernel", [gs.SquaredExponential(), gs.Matern(0.5), gs.Linear()])
def test_a_kernel_family_is_learned_with_the_noise_that_was_declared(asked, kernel):
    h = gs.BlackBox(lambda x: 0.0, name="h", kernel=kernel, noise=0.5)
    problem = gs.Problem(minimize=h(square()))
    believe(problem.program, observed("h", [[0.1, 0.2]], [1.0]))
    assert asked[0]["kernel"] is kernel
    assert asked[0]["noise"].tolist() == [0.5]


def test_with_hyperparameters_nothing_is_learned_and_the_paper_s_formulas_hold(asked):
    kernel = gs.Matern(1.5, lengthscale=[0.5, 2.0], variance=3.0)
    h = gs.BlackBox(lambda x: (x[0], x[1]), name="h", outputs=2, kernel=kernel, noise=[0.1, 0.0])
    problem = gs.Problem(minimize=h(square())[0])
    believed = believe(problem.program, history_at(problem, [[0.1, 0.9]]))["h"]
    assert not asked
    values = believed.hyperparameters
    assert values.lengthscale.tolist() == [[0.5, 2.0]] * 2
    assert values.variance.tolist() == [3.0, 3.0]
    np.testing.assert_allclose(values.noise, [0.01, 0.0])
    assert values.mean.tolist() == [0.0, 0.0]
    assert values.center.tolist() == [0.0, 0.0]


def test_without_observations_a_box_with_hyperparameters_is_believed_to_be_its_prior():
    h = gs.BlackBox(lambda x: 0.0, name="h", kernel=known_kernel(1.0, 4.0), noise=0)
    problem = gs.Problem(minimize=h(square()))
    mean, deviation = believe(problem.program, History())["h"].predict(torch.zeros(1, 2).double())
    assert (mean.item(), deviation.item()) == (0.0, 2.0)


def test_what_is_learned_and_what_is_exact_is_told_from_the_declaration():
    def box(**options):
        return gs.BlackBox(lambda x: 0.0, name="h", **options)

    given_kernel = gs.Matern(lengthscale=1.0, variance=1.0)
    assert box().is_learned
    assert box(noise=0).is_learned
    assert box(kernel=gs.Matern(), noise=0).is_learned
    assert not box(kernel=given_kernel, noise=0).is_learned
    assert box(noise=0).is_exact
    assert not box().is_exact
    assert not box(noise=0.1).is_exact
    assert not box(outputs=2, noise=[0.0, 0.1]).is_exact


def test_a_kernel_that_does_not_fit_its_box_is_refused():
    kernel = gs.Matern(lengthscale=[1.0, 2.0, 3.0], variance=1.0)
    h = gs.BlackBox(lambda x: 0.0, name="h", kernel=kernel, noise=0)
    problem = gs.Problem(minimize=h(square()))
    with pytest.raises(ModelError, match="'h' takes 2 numbers, but its kernel has 3 length-scales"):
        believe(problem.program, History())


# --- the range that inputs are scaled by ---------------------------------------------------------
def ranges(asked, expression, box, seen=None):
    """The range that the inputs of a box are scaled by, given some observations."""
    problem = gs.Problem(minimize=np.sum(expression))
    if seen is None:
        seen = np.full((1, box.inputs), 0.5)
    believe(problem.program, observed(box.name, seen, np.zeros((len(seen), box.outputs))))
    (request,) = asked
    return request["lower"], request["upper"]


def test_variables_are_scaled_by_their_bounds(asked):
    x, h = gs.Variable("x", 2, lower=[-1, 10], upper=[1, 30]), gs.BlackBox(None, name="h")
    assert ranges(asked, h(x), h) == ([-1, 10], [1, 30])


def test_entries_and_slices_are_scaled_by_the_bounds_of_what_they_take(asked):
    x = gs.Variable("x", 4, lower=[0, 1, 2, 3], upper=[10, 11, 12, 13])
    h = gs.BlackBox(None, name="h")
    assert ranges(asked, h(x[1:3], x[3], x[[2, 0]]), h) == (
        [1, 2, 3, 2, 0],
        [11, 12, 13, 12, 10],
    )


def test_entries_joined_to_one_argument_keep_their_bounds(asked):
    x, y = gs.Variable("x", 2, lower=0, upper=5), gs.Variable("y", lower=-7, upper=7)
    h = gs.BlackBox(None, name="h")
    assert ranges(asked, h([y, x[1]], np.concatenate([x, [2.0]])), h)[1][:4] == [7, 5, 5, 5]


def test_a_constant_argument_has_a_range_of_width_one(asked):
    x, h = gs.Variable("x", lower=0, upper=5), gs.BlackBox(None, name="h")
    assert ranges(asked, h(x, 3.0), h) == ([0, 3], [5, 4])


def test_outputs_of_another_box_are_scaled_by_their_declared_range(asked):
    x = gs.Variable("x", lower=0, upper=5)
    g = gs.BlackBox(
        None, name="g", outputs=2, lower=[-2, 0], upper=8, kernel=known_kernel(), noise=0
    )
    h = gs.BlackBox(None, name="h")
    assert ranges(asked, h(g(x), x), h) == ([-2, 0, 0], [8, 8, 5])


@pytest.mark.parametrize(
    "declared", [{}, {"lower": -2}, {"upper": 8}, {"lower": -np.inf, "upper": np.inf}]
)
def test_what_no_declaration_tells_is_scaled_by_the_data(asked, declared):
    x = gs.Variable("x", lower=0, upper=5)
    g = gs.BlackBox(None, name="g", kernel=known_kernel(), noise=0, **declared)
    h = gs.BlackBox(None, name="h")
    assert ranges(asked, h(g(x), x), h, [[3.0, 1.0], [7.0, 2.0], [4.0, 3.0]]) == ([3, 0], [7, 5])


def test_a_formula_is_scaled_by_the_data(asked):
    x, h = gs.Variable("x", lower=0, upper=5), gs.BlackBox(None, name="h")
    assert ranges(asked, h(x**2), h, [[4.0], [9.0]]) == ([4], [9])


def test_data_without_any_spread_have_a_range_of_width_one(asked):
    x, h = gs.Variable("x", lower=0, upper=5), gs.BlackBox(None, name="h")
    assert ranges(asked, h(x**2), h, [[4.0], [4.0]]) == ([4], [5])


def test_declared_input_ranges_come_first(asked):
    x = gs.Variable("x", 2, lower=0, upper=5)
    h = gs.BlackBox(None, name="h", input_lower=[-1, -np.inf], input_upper=9)
    assert ranges(asked, h(x), h) == ([-1, 0], [9, 9])


def test_a_box_at_two_places_is_scaled_by_both_together(asked):
    x, y = gs.Variable("x", lower=0, upper=5), gs.Variable("y", lower=-3, upper=2)
    h = gs.BlackBox(None, name="h")
    assert ranges(asked, h(x) + h(y), h) == ([-3], [5])


# --- a user's own model --------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:Data")  # BoTorch's advice about units
def test_a_user_s_own_model_is_given_the_data_in_the_user_s_units():
    from botorch.models import SingleTaskGP

    seen = {}

    def model(inputs, outputs):
        seen.update(inputs=inputs, outputs=outputs)
        return SingleTaskGP(inputs, outputs)

    x = gs.Variable("x", 2, lower=100, upper=900)
    h = gs.BlackBox(lambda x: (x[0], x[1] / 7), name="h", outputs=2, model=model)
    problem = gs.Problem(minimize=h(x)[0])
    believed = believe(problem.program, history_at(problem, [[100, 700], [300, 140]]))["h"]
    assert isinstance(believed, ModelSurrogate)
    assert seen["inputs"].tolist() == [[100, 700], [300, 140]]
    assert seen["outputs"].tolist() == [[100, 100], [300, 20]]
    assert seen["inputs"].dtype == seen["outputs"].dtype == torch.float64
    assert h.is_learned


@pytest.mark.parametrize("nonsense", [None, 3.0, "model"])
def test_a_model_function_that_returns_no_model_is_refused(nonsense):
    x = square(shape=1)
    h = gs.BlackBox(lambda x: x[0], name="h", model=lambda inputs, outputs: nonsense)
    problem = gs.Problem(minimize=h(x))
    with pytest.raises(
        ModelError,
        match=f"model= of black box 'h' returned {nonsense!r}: it must return a fitted BoTorch "
        r"model, something with posterior\(X\)",
    ):
        believe(problem.program, history_at(problem, [[0.5]]))


def test_a_model_of_the_wrong_number_of_outputs_is_refused():
    from botorch.models import SingleTaskGP

    x = square(shape=1)
    h = gs.BlackBox(
        lambda x: (x[0], x[0]), name="h", outputs=2, model=lambda x, y: SingleTaskGP(x, y[:, :1])
    )
    problem = gs.Problem(minimize=h(x)[0])
    with pytest.raises(ModelError, match=r"'h' predicts .* must return a model of 2 outputs"):
        believe(problem.program, history_at(problem, [[0.2], [0.5], [0.9]]))


def test_a_model_function_that_fails_is_named():
    def model(inputs, outputs):
        raise RuntimeError("did not converge")

    h = gs.BlackBox(lambda x: x[0], name="h", model=model)
    problem = gs.Problem(minimize=h(square(shape=1)))
    with pytest.raises(RuntimeError, match="did not converge") as caught:
        believe(problem.program, history_at(problem, [[0.5]]))
    assert caught.value.__notes__ == ["This is model= of black box 'h', called with 1 observation."]


def test_a_model_function_of_other_arguments_is_refused_when_it_is_declared():
    with pytest.raises(ModelError, match="pass a function of inputs and outputs that returns"):
        gs.BlackBox(lambda x: x[0], name="h", model=lambda inputs: None)


def test_a_problem_with_a_user_s_own_model_is_solved():
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    def model(inputs, outputs):
        gp = SingleTaskGP(inputs / 10, outputs)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
        return _Scaled(gp)

    class _Scaled:
        def __init__(self, gp):
            self.gp = gp

        def posterior(self, points):
            return self.gp.posterior(points / 10)

    x = gs.Variable("x", lower=0, upper=10)
    h = gs.BlackBox(lambda x: (x - 7) ** 2, name="h", noise=0, model=model)
    strategy = gs.Optimistic(solver=gs.MultiStart(starts=3, samples=64, iterations=15), initial=4)
    result = gs.Problem(minimize=h(x)).solve(trials=8, strategy=strategy, progress=False)
    assert result[x] == pytest.approx(7, abs=0.3)


# --- answers that no function of the kernel's gives ----------------------------------------------
def contradiction_of(function, **options):
    box = gs.BlackBox(None, name="f", **{"noise": 0, **options})
    x = gs.Variable("x", lower=-1, upper=1)
    program = gs.Problem(minimize=box(x)).program
    # As at the end of a study: some answers all over, many in one place.
    inputs = np.concatenate([np.linspace(-1, 1, 7), 0.3 + np.array([1e-3, 1e-5, 1e-6, 2e-6])])
    history = observed("f", inputs, function(inputs))
    return contradiction(box, believe(program, history)["f"])


@pytest.mark.parametrize("kernel", [gs.Linear(), gs.Linear(1.0, 1.0)])
def test_a_parabola_contradicts_a_linear_kernel_without_noise(kernel):
    text = contradiction_of(np.square, kernel=kernel)
    assert text.startswith("the answers of black box 'f' contradict its Linear kernel with noise 0")
    assert text.endswith("use kernel=gs.Matern() or noise=None")
    assert not contradiction_of(np.square, kernel=kernel, noise=0.1)


@pytest.mark.parametrize(
    ("function", "kernel"),
    [
        (lambda x: 2 * x, gs.Linear(1.0, 1.0)),
        (lambda x: 2 * x + 1, gs.Linear()),
        (np.square, None),
        (lambda x: 1e8 * np.exp(3 * x), None),
        (lambda x: 0 * x + 3, None),
        (np.abs, gs.Matern(1.5)),
        (lambda x: np.sin(20 * x), gs.SquaredExponential(0.1, 1.0)),
    ],
)
def test_answers_that_a_kernel_describes_do_not_contradict_it(function, kernel):
    assert contradiction_of(function, kernel=kernel) == ""


def test_two_exact_answers_that_differ_contradict_any_kernel():
    x = gs.Variable("x", lower=-1, upper=1)
    box = gs.BlackBox(None, name="f", noise=0, kernel=known_kernel())
    program = gs.Problem(minimize=box(x)).program
    surrogate = believe(program, observed("f", [0.0, 0.5, 0.5], [0.0, 0.2, 0.4]))["f"]
    assert "misses them by up to 0.1: use noise=None" in contradiction(box, surrogate)


# --- many rows -----------------------------------------------------------------------------------
def test_the_posterior_of_many_rows_is_that_of_its_most_telling_ones(monkeypatch):
    monkeypatch.setattr(learning, "_MANY_ROWS", 12)
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(np.sin, name="f", noise=0, kernel=gs.Matern(2.5, 1.0, 1.0))
    problem = gs.Problem(minimize=f(x))
    history = history_at(problem, np.linspace(0, 4, 40)[:, None])
    belief = believe(problem.program, history)["f"]
    assert len(belief.inputs) <= 12
    alone = Posterior(belief.kernel, belief.hyperparameters, belief.inputs, belief.outputs)
    states = torch.linspace(0, 4, 9).double().unsqueeze(1)
    for found, expected in zip(belief.predict(states), alone.predict(states), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    best = history.trials[int(np.argmin([t.objective for t in history]))].x
    assert float(belief.predict(torch.tensor(best).unsqueeze(0))[1]) < 1e-4


def test_many_noisy_rows_are_condensed_and_say_what_all_of_them_say(monkeypatch):
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(np.sin, name="f", noise=0.1, kernel=gs.Matern(2.5, 1.0, 1.0))
    problem = gs.Problem(minimize=f(x))
    history = history_at(problem, np.linspace(0, 4, 60)[:, None])
    whole = believe(problem.program, history)["f"]
    monkeypatch.setattr(learning, "_MANY_ROWS", 50)
    condensed = believe(problem.program, history)["f"]
    assert isinstance(condensed, CondensedPosterior)
    states = torch.linspace(0, 4, 9).double().unsqueeze(1)
    for found, expected in zip(condensed.predict(states), whole.predict(states), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_hyperparameters_of_many_rows_are_those_of_typical_ones(monkeypatch):
    monkeypatch.setattr(learning, "_TYPICAL_ROWS", 15)
    x = gs.Variable("x", lower=0, upper=4)
    problem = gs.Problem(minimize=gs.BlackBox(np.sin, name="f", noise=0)(x))
    points = np.linspace(0, 4, 40)[:, None]
    history = history_at(problem, points)
    found = believe(problem.program, history)["f"].hyperparameters
    some = typical_rows(points[: milestone(40)] / 4, 15)
    few = believe(problem.program, history_at(problem, points[some]))["f"].hyperparameters
    np.testing.assert_allclose(found.lengthscale, few.lengthscale)
    np.testing.assert_allclose(found.variance, few.variance)


def test_rows_without_a_factor_are_taken_one_by_one(monkeypatch):
    x = gs.Variable("x", lower=0, upper=4)
    f = gs.BlackBox(np.sin, name="f", noise=0, kernel=gs.Matern(2.5, 1.0, 1.0))
    problem = gs.Problem(minimize=f(x))
    history = history_at(problem, np.linspace(0, 4, 7)[:, None])
    whole = believe(problem.program, history)["f"]
    make = Posterior.__init__

    def refuse(self, kernel, sizes, inputs, outputs):
        if len(inputs) > 1:
            raise NoFactorError
        make(self, kernel, sizes, inputs, outputs)

    monkeypatch.setattr(Posterior, "__init__", refuse)
    found = believe(problem.program, history)["f"]
    np.testing.assert_allclose(found.factor, whole.factor, atol=1e-9)
