"""The plausible set as a box: every (x, eta) is plausible, and every plausible z has its eta."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.language.program import split_outputs
from tests.belief.belief_helpers import (
    Fixed,
    fixed_set,
    history_at,
    known_kernel,
    plausible_set,
    random_design,
    trial_at,
)


def nested(seed=0, **options):
    """A chain of three calls of two boxes over two variables, with a constraint, and its history.

    The inner box has two outputs, and the outer one is called twice.
    """
    kernel = known_kernel([0.8, 1.5], 2.0)
    x = gs.Variable("x", 2, lower=[-1, 0], upper=[1, 3])
    inner = gs.BlackBox(
        lambda x: (np.sin(x[0]) + 0.2 * x[1], np.cos(x[1])),
        name="inner",
        outputs=2,
        kernel=kernel,
        noise=0,
        **options,
    )
    outer = gs.BlackBox(
        lambda a, b: 0.5 * np.sin(2 * a) * b, name="outer", kernel=kernel, noise=0, **options
    )
    y = inner(x)
    z = outer(y[0] ** 2, x[1])
    problem = gs.Problem(minimize=outer(z + x[0], y[1]) + y[0], subject_to=[z * y[1] <= 0.5])
    return problem, history_at(problem, random_design(problem, 6, seed))


def bands_along(plausible, point):
    """The band of each call at the states that a point (x, eta) leads to, flat."""
    states, outputs = plausible.trace(point)
    ends = [
        plausible.band(call, torch.tensor(state)[None])
        for call, state in zip(plausible.program.calls, states, strict=True)
    ]
    return outputs, *(np.concatenate([e[i][0].numpy() for e in ends]) for i in range(2))


def random_points(plausible, count, seed=1):
    rng = np.random.default_rng(seed)
    return torch.tensor(
        rng.uniform(plausible.lower, plausible.upper, (count, len(plausible.lower)))
    )


# --- every eta is plausible, every plausible z has its eta ---------------------------------------
def test_the_box_is_the_variables_and_one_eta_per_output():
    problem, history = nested()
    plausible = plausible_set(problem, history)
    assert plausible.lower.tolist() == [-1, 0, -1, -1, -1, -1]
    assert plausible.upper.tolist() == [1, 3, 1, 1, 1, 1]
    box = plausible.search_problem()
    assert torch.equal(box.lower, plausible.lower)
    assert torch.equal(box.upper, plausible.upper)
    assert box.continuous


def test_every_eta_gives_intermediate_values_inside_their_bands():
    problem, history = nested()
    plausible = plausible_set(problem, history)
    for point in random_points(plausible, 30):
        outputs, lower, upper = bands_along(plausible, point)
        assert (outputs >= lower - 1e-12).all()
        assert (outputs <= upper + 1e-12).all()


def test_eta_is_how_far_up_its_band_a_value_lies():
    problem, history = nested()
    plausible = plausible_set(problem, history)
    for point in random_points(plausible, 10):
        outputs, lower, upper = bands_along(plausible, point)
        fraction = (outputs - lower) / (upper - lower)
        np.testing.assert_allclose(2 * fraction - 1, point[2:], atol=1e-9)


def test_every_plausible_chain_has_its_eta():
    problem, history = nested()
    plausible = plausible_set(problem, history)
    for point in random_points(plausible, 30):
        _, outputs = plausible.trace(point)
        located = plausible.locate(point[:2].numpy(), outputs)
        np.testing.assert_allclose(located, point, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_true_chain_is_plausible_when_the_bands_contain_it(seed):
    problem, history = nested(seed)
    plausible = plausible_set(problem, history, beta=3.0)
    contained = 0
    for x in random_design(problem, 20, seed=10 + seed):
        truth = trial_at(problem, 0, x)
        inside = True
        for call, seen in zip(problem.program.calls, truth.observations, strict=True):
            lower, upper = plausible.band(call, torch.tensor(seen.inputs)[None])
            inside &= bool(
                ((lower[0].numpy() <= seen.outputs) & (seen.outputs <= upper[0].numpy())).all()
            )
        if not inside:
            continue
        contained += 1
        point = plausible.locate(x, truth.chain)
        _, outputs = plausible.trace(point)
        np.testing.assert_allclose(outputs, truth.chain, atol=1e-9)
        objective, constraints = plausible.evaluate(point[None])
        assert objective.item() == pytest.approx(truth.objective, abs=1e-9)
        np.testing.assert_allclose(constraints[0], truth.constraints, atol=1e-9)
    assert contained >= 15


def test_values_outside_their_bands_are_located_at_the_nearest_end():
    x = gs.Variable("x", lower=0, upper=1)
    g, h = gs.BlackBox(None, name="g"), gs.BlackBox(None, name="h")
    problem = gs.Problem(minimize=h(g(x)))
    plausible = fixed_set(problem, {"g": Fixed(0.0, 1.0), "h": Fixed(lambda s: s, 0.5)}, beta=2)
    # g is within [-2, 2], and h within 1 of whatever g is taken to be
    assert plausible.locate(np.array([0.5]), np.array([9.0, 0.0])).tolist() == [0.5, 1, -1]
    assert plausible.locate(np.array([0.5]), np.array([-1.0, -0.5])).tolist() == [0.5, -0.5, 0.5]
    states, outputs = plausible.trace(torch.tensor([0.5, 1.0, -1.0]).double())
    assert [s.tolist() for s in states] == [[0.5], [2.0]]
    assert outputs.tolist() == [2, 1]


def test_a_band_without_width_is_located_without_failing():
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(None, name="h")
    problem = gs.Problem(minimize=h(x))
    plausible = fixed_set(problem, {"h": Fixed(3.0, 0.0)})
    for wanted in (2.0, 3.0, 4.0):
        point = plausible.locate(np.array([0.5]), np.array([wanted]))
        assert torch.isfinite(point).all()
        assert plausible.trace(point)[1].tolist() == [3.0]


def test_a_problem_without_black_boxes_has_the_variables_alone():
    x = gs.Variable("x", 2, lower=0, upper=1)
    problem = gs.Problem(minimize=x @ x, subject_to=[x[0] >= 0.5])
    plausible = fixed_set(problem, {})
    objective, constraints = plausible.evaluate(torch.tensor([[0.25, 0.5]]).double())
    assert (objective.tolist(), constraints.tolist()) == ([0.3125], [[0.25]])
    states, outputs = plausible.trace(torch.tensor([0.25, 0.5]).double())
    assert (states, outputs.shape) == ([], (0,))
    assert plausible.locate(np.array([0.25, 0.5]), np.zeros(0)).tolist() == [0.25, 0.5]
    predicted = plausible.predict(torch.tensor([[0.25, 0.5]]).double())
    assert predicted[2].item() == pytest.approx(0, abs=1e-12)


# --- chains --------------------------------------------------------------------------------------
def test_invented_states_stay_within_the_range_the_next_box_accepts():
    x = gs.Variable("x", lower=0, upper=1)
    g = gs.BlackBox(None, name="g")
    h = gs.BlackBox(None, name="h", input_lower=0, input_upper=1.5)
    problem = gs.Problem(minimize=h(g(x)))
    asked = []

    def mean(states):
        asked.append(states.detach().clone())
        return states

    plausible = fixed_set(problem, {"g": Fixed(0.0, 1.0), "h": Fixed(mean, 0.0)}, beta=3)
    for eta, state in [(-1.0, 0.0), (0.0, 0.0), (0.25, 0.75), (1.0, 1.5)]:
        point = torch.tensor([0.5, eta, 0.0]).double()
        states, outputs = plausible.trace(point)
        assert states[1].tolist() == [state]
        assert outputs.tolist() == [3 * eta, state]
        assert plausible.evaluate(point[None])[0].tolist() == [state]
    assert all(((s >= 0) & (s <= 1.5)).all() for s in asked)


def test_output_ranges_guard_the_boxes_downstream():
    x = gs.Variable("x", lower=0, upper=1)
    g = gs.BlackBox(None, name="g", lower=0)
    problem = gs.Problem(minimize=np.sqrt(g(x)))
    plausible = fixed_set(problem, {"g": Fixed(0.0, 1.0)}, beta=2)
    values, _ = plausible.evaluate(torch.tensor([[0.5, -1.0], [0.5, 0.0], [0.5, 1.0]]).double())
    np.testing.assert_allclose(values, [0, 1, np.sqrt(2)])


def test_objective_and_constraints_read_one_and_the_same_value():
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(None, name="h")
    problem = gs.Problem(minimize=h(x), subject_to=[h(x) >= 1, 2 * h(x) <= 6])
    plausible = fixed_set(problem, {"h": Fixed(0.0, 1.0)}, beta=4)
    assert len(plausible.lower) == 2  # one variable, one eta
    points = random_points(plausible, 20)
    objective, constraints = plausible.evaluate(points)
    np.testing.assert_allclose(objective, 4 * points[:, 1], atol=1e-12)
    np.testing.assert_allclose(constraints[:, 0], 1 - objective, atol=1e-12)
    np.testing.assert_allclose(constraints[:, 1], 2 * objective - 6, atol=1e-12)
    # With a z of its own, the objective could promise -4; sharing it knows that h is at least 1.
    solution = gs.Grid(41).solve(plausible.search_problem(), torch.zeros(0, 2).double(), 0)
    assert solution.value == pytest.approx(1.0)


def test_two_calls_of_one_box_have_an_eta_each():
    x = gs.Variable("x", 2, lower=0, upper=1)
    h = gs.BlackBox(None, name="h")
    problem = gs.Problem(minimize=h(x[0]) - h(x[1]))
    plausible = fixed_set(problem, {"h": Fixed(lambda s: 10 * s, 1.0)}, beta=2)
    objective, _ = plausible.evaluate(torch.tensor([[0.1, 0.2, 1.0, -1.0]]).double())
    assert objective.item() == pytest.approx((1 + 2) - (2 - 2))


def test_the_objective_of_a_maximization_is_turned_round():
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(None, name="h")
    problem = gs.Problem(maximize=h(x))
    objective, _ = fixed_set(problem, {"h": Fixed(3.0, 1.0)}).evaluate(
        torch.tensor([[0.5, 1.0]]).double()
    )
    assert objective.item() == -5.0


def test_jumps_of_the_model_are_told_to_the_solver():
    x = gs.Variable("x", lower=0, upper=9)
    h = gs.BlackBox(None, name="h")
    plausible = fixed_set(gs.Problem(minimize=np.floor(h(x))), {"h": Fixed(0.0, 1.0)})
    assert not plausible.search_problem().continuous
    assert not plausible.cautious_problem(torch.zeros(0)).continuous


def test_gradients_of_the_auxiliary_problem_are_right():
    problem, history = nested()
    plausible = plausible_set(problem, history)
    points = random_points(plausible, 3).requires_grad_()
    assert torch.autograd.gradcheck(plausible.evaluate, (points,), atol=1e-6)


# --- prediction ----------------------------------------------------------------------------------
def affine(weights):
    """Constraints a' z + b' x <= c on independent boxes, and what is believed of them."""
    x = gs.Variable("x", 2, lower=-1, upper=1)
    names = [f"h{j}" for j in range(len(weights[0]))]
    z = np.stack([gs.BlackBox(None, name=name)(x) for name in names])
    bodies = [np.array(row) @ z + x[0] for row in weights]
    problem = gs.Problem(minimize=z[0] ** 2, subject_to=[b <= 1 for b in bodies])
    return problem, names


def test_the_deviation_of_an_affine_constraint_is_the_one_worked_out_by_hand():
    weights, sigma, beta = np.array([[3.0, -4.0, 0.5], [1.0, 0.0, -2.0]]), [0.1, 0.2, 0.3], 1.7
    problem, names = affine(weights)
    beliefs = {n: Fixed(float(j), s) for j, (n, s) in enumerate(zip(names, sigma, strict=True))}
    design = torch.tensor([[0.5, 0.0], [-1.0, 1.0]]).double()
    objective, constraints, deviation = fixed_set(problem, beliefs, beta).predict(design)
    assert objective.tolist() == [0, 0]
    means = weights @ [0.0, 1.0, 2.0]
    np.testing.assert_allclose(constraints, means[None] + design[:, :1].numpy() - 1, rtol=1e-12)
    by_hand = beta * np.sqrt((weights**2) @ np.square(sigma))  # beta sqrt(sum (a_j sigma_j)^2)
    np.testing.assert_allclose(deviation, [by_hand, by_hand], rtol=1e-12)


def test_a_constraint_that_no_black_box_reaches_has_no_deviation_but_a_gradient():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    h = gs.BlackBox(None, name="h")
    problem = gs.Problem(minimize=h(x), subject_to=[x[0] * x[1] <= 0])
    design = torch.tensor([[0.5, 0.25]]).double().requires_grad_()
    _, constraints, deviation = fixed_set(problem, {"h": Fixed(0.0, 1.0)}).predict(design)
    assert deviation.item() == pytest.approx(0, abs=1e-12)
    (constraints + deviation).sum().backward()
    assert design.grad.tolist() == [[0.25, 0.5]]


@pytest.mark.parametrize(
    ("constraint", "mean", "expected"),
    [
        (lambda z: z**2, 0.0, 4.0),  # z in [-2, 2]
        (lambda z: z**2, 1.0, 8.0),  # z in [-1, 3], and 1 in the middle
        (lambda z: np.abs(z), 0.0, 2.0),
        (lambda z: -(z**2), 0.0, 0.0),  # it can only fall
        (lambda z: -z, 0.0, 2.0),
    ],
)
def test_a_constraint_may_rise_by_as_much_as_its_worse_end(constraint, mean, expected):
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(None, name="h")
    problem = gs.Problem(minimize=x, subject_to=[constraint(h(x)) <= 3])
    plausible = fixed_set(problem, {"h": Fixed(mean, 1.0)}, beta=2)
    _, _, deviation = plausible.predict(torch.zeros(1, 1).double())
    assert deviation.item() == pytest.approx(expected, abs=1e-12)


def test_uncertainty_of_an_inner_box_is_carried_through_the_chain():
    # z1 = 2 +- 0.2 (beta 2, sigma 0.1); h is known to be s^2 and certain: g = h(z1)
    x = gs.Variable("x", lower=0, upper=1)
    inner, outer = gs.BlackBox(None, name="inner"), gs.BlackBox(None, name="outer")
    problem = gs.Problem(minimize=x, subject_to=[outer(inner(x)) <= 0])
    beliefs = {"inner": Fixed(2.0, 0.1), "outer": Fixed(lambda s: s**2, 0.0)}
    _, constraints, deviation = fixed_set(problem, beliefs, beta=2).predict(
        torch.zeros(1, 1).double()
    )
    assert constraints.item() == 4
    assert deviation.item() == pytest.approx(2.2**2 - 4)


def test_without_constraints_one_pass_predicts_the_objective():
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(None, name="h")
    sizes = []

    def mean(states):
        sizes.append(len(states))
        return states

    plausible = fixed_set(gs.Problem(minimize=3 * h(x)), {"h": Fixed(mean, 1.0)})
    objective, constraints, deviation = plausible.predict(torch.tensor([[0.1], [0.2]]).double())
    np.testing.assert_allclose(objective, [0.3, 0.6])
    assert constraints.shape == deviation.shape == (2, 0)
    assert sizes == [2]


def test_predictions_lie_in_the_middle_of_clipped_bands():
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(None, name="h", lower=0)
    problem = gs.Problem(minimize=h(x))
    # the band [-1, 3] becomes [0, 3]
    objective, _, _ = fixed_set(problem, {"h": Fixed(1.0, 1.0)}).predict(torch.zeros(1, 1).double())
    assert objective.item() == 1.5


# --- the cautious problem ------------------------------------------------------------------------
def test_the_cautious_problem_asks_for_constraints_with_deviation_and_margin_over_x_alone():
    weights = np.array([[3.0, -4.0], [1.0, 0.0]])
    problem, names = affine(weights)
    plausible = fixed_set(problem, {n: Fixed(0.5, 0.1) for n in names}, beta=2)
    cautious = plausible.cautious_problem(torch.tensor([0.25, 0.0]).double())
    assert (cautious.lower.tolist(), cautious.upper.tolist()) == ([-1, -1], [1, 1])
    objective, constraints = cautious.evaluate(torch.tensor([[0.5, 0.0]]).double())
    assert objective.item() == 0.25
    np.testing.assert_allclose(
        constraints, [[-0.5 + 0.5 - 1 + 2 * 0.5 + 0.25, 0.5 + 0.5 - 1 + 2 * 0.1]], rtol=1e-12
    )


def test_where_the_cautious_problem_is_feasible_so_is_every_single_deviation():
    problem, history = nested()
    plausible = plausible_set(problem, history)
    cautious = plausible.cautious_problem(torch.zeros(1).double())
    design = torch.tensor(random_design(problem, 200, seed=3))
    _, required = cautious.evaluate(design)
    safe = design[required[:, 0] <= 0]
    assert 20 < len(safe) < 180
    m = problem.program.box_outputs
    for j in range(m):
        for sign in (-1.0, 1.0):
            eta = torch.zeros(len(safe), m).double()
            eta[:, j] = sign
            _, constraints = plausible.evaluate(torch.cat([safe, eta], 1))
            assert (constraints <= 1e-12).all()


# --- outputs -------------------------------------------------------------------------------------
def test_constraints_of_any_shape_become_columns():
    objective, constraints = split_outputs(
        [torch.zeros(3), torch.ones(3), torch.full((3, 2), 2.0), torch.full((3, 1, 2), 3.0)]
    )
    assert objective.shape == (3,)
    assert constraints.tolist() == [[1, 2, 2, 3, 3]] * 3
    assert split_outputs([torch.zeros(3)])[1].shape == (3, 0)


def test_the_highest_objective_at_a_point_is_not_below_that_of_any_corner_of_the_bands():
    problem, history = nested()
    bands = plausible_set(problem, history, 2.0)
    x = np.array([0.3, 1.7])
    controls = len(bands.lower) - 2
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * controls)
    points = torch.cat([torch.tensor(x).expand(len(corners), -1), corners], 1)
    values, _ = bands.evaluate(points)
    assert bands.highest(x) >= values[torch.isfinite(values)].max().item() * (1 - 1e-9)
