"""Planning with process noise: expected values over a fixed sample of disturbances."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.plausible_set import SAMPLES, PlausibleSet, constant_widths, standard_normals
from grisaille.belief.rules import plausible_set
from grisaille.proof.relaxation import relaxed
from grisaille.records import History, Observation
from grisaille.search.search_problem import NoRelaxation

KERNEL = gs.SquaredExponential(lengthscale=1.5, variance=1.0)


def box(name, noise, process_noise=True, **options):
    return gs.BlackBox(
        None, name=name, noise=noise, kernel=KERNEL, process_noise=process_noise, **options
    )


def history(**answers):
    generator = np.random.default_rng(0)
    rows = []
    for name, fn in answers.items():
        for state in generator.uniform(-2, 2, (8, fn.__code__.co_argcount)):
            rows.append(Observation(name, state, np.array([fn(*state)])))
    return History(loose=tuple(rows))


def chain(noise_z=0.4, noise_y=0.3, process_noise=True, outer=lambda y, z: y, **options):
    x = gs.Variable("x", lower=-2, upper=2)
    z = box("z", noise_z, process_noise, **options)(x)
    y = box("y", noise_y, process_noise)(z, x)
    problem = gs.Problem(minimize=outer(y, z))
    seen = history(z=lambda x: np.sin(x), y=lambda z, x: z * x)
    return problem, plausible_set(problem.program, seen, 2.0)


def test_the_sample_is_standard_and_mirrored():
    errors = standard_normals(3)
    assert errors.shape == (SAMPLES, 3)
    assert errors.mean(0).abs().max() < 1e-12
    assert errors.square().mean(0).numpy() == pytest.approx(1)
    assert (errors**3).mean(0).abs().max() < 1e-12


def test_an_expected_cosine_has_its_closed_form():
    x = gs.Variable("x", lower=-2, upper=2)
    z = box("z", 0.4)(x)
    problem = gs.Problem(minimize=np.cos(3 * z), subject_to=[z**2 <= 1])
    plausible = plausible_set(problem.program, history(z=lambda x: np.sin(x)), 2.0)
    points = torch.tensor([[0.3, 0.0], [1.2, -1.0]], dtype=torch.float64)
    objective, constraints = plausible.evaluate(points)
    (call,) = problem.program.calls
    lower, upper = plausible.band(call, points[:, :1])
    center = torch.stack([(lower + upper)[0] / 2, lower[1]])[:, 0]
    expected = torch.exp(torch.tensor(-0.5 * 9 * 0.16)) * torch.cos(3 * center)
    assert objective.numpy() == pytest.approx(expected.numpy(), abs=0.02)
    assert constraints[:, 0].numpy() == pytest.approx((center**2 + 0.16 - 1).numpy(), abs=1e-9)


def test_what_is_downstream_reads_the_disturbed_value_with_a_control_that_may_react():
    problem, plausible = chain()
    assert len(plausible.lower) == 1 + 2 + 2  # x, one eta per output, two weights of y
    point = torch.tensor([[0.7, 0.5, -0.2, 0.6, 0.0]], dtype=torch.float64)
    value = plausible.evaluate(point)[0].item()
    # By brute force: many disturbances, the control of y affine in its standardized state.
    x, eta_z, eta_y, weight, _ = point[0]
    calls = {c.box.name: c for c in problem.program.calls}

    def inside(name, states, eta):
        lower, upper = plausible.band(calls[name], states)
        return (lower + upper)[:, 0] / 2 + eta * (upper - lower)[:, 0] / 2

    errors = torch.randn(40_000, generator=torch.Generator().manual_seed(0)).double()
    z = inside("z", x.reshape(1, 1), eta_z) + 0.4 * errors
    control = (eta_y + weight * (z - z.mean()) / z.std()).clamp(-1, 1)
    y = inside("y", torch.stack([z, x.expand_as(z)], 1), control)
    assert value == pytest.approx(y.mean().item(), abs=0.01)
    still = plausible.evaluate(point * torch.tensor([1, 1, 1, 0, 1]))[0].item()
    assert abs(still - value) > 0.02


def test_the_noise_of_the_last_black_box_does_not_move_a_linear_objective():
    _, quiet = chain(noise_y=0.3)
    problem, _ = chain(noise_y=0.3)
    seen = quiet.beliefs
    louder = gs.Problem(minimize=problem.objective).program
    louder.calls[-1].box.noise = np.array([5.0])
    plausible = PlausibleSet(louder, seen, constant_widths(louder, 2.0))
    points = torch.rand(5, 5, generator=torch.Generator().manual_seed(1)).double()
    assert plausible.evaluate(points)[0].numpy() == pytest.approx(quiet.evaluate(points)[0].numpy())


def test_disturbed_values_stay_in_the_declared_range():
    _, plausible = chain(noise_z=2.0, outer=lambda y, z: -z, lower=-1, upper=1)
    points = torch.rand(20, 5, generator=torch.Generator().manual_seed(1)).double()
    assert plausible.evaluate(points)[0].abs().max() <= 1
    _, free = chain(noise_z=2.0, outer=lambda y, z: z**2, lower=-1, upper=1)
    assert free.evaluate(points)[0].max() <= 1


def test_without_process_noise_nothing_is_sampled():
    _, plausible = chain(process_noise=False)
    assert plausible.disturbances is None
    assert len(plausible.lower) == 1 + 2


def test_predictions_traces_and_locations_have_the_right_sizes():
    _, plausible = chain()
    design = torch.tensor([[0.5], [-1.0]], dtype=torch.float64)
    objective, constraints, deviation = plausible.predict(design)
    middle = torch.cat([design, design.new_zeros(2, 4)], 1)
    assert objective.tolist() == plausible.evaluate(middle)[0].tolist()
    assert constraints.shape == deviation.shape == (2, 0)
    states, outputs = plausible.trace(middle[0])
    assert [len(s) for s in states] == [1, 2]
    located = plausible.locate(np.array([0.5]), outputs)
    assert located.numpy() == pytest.approx(middle[0].numpy(), abs=1e-6)


def test_proofs_and_theory_refuse_process_noise_in_a_sentence():
    problem, plausible = chain()
    relax = relaxed(plausible).relax
    assert relax is not None
    with pytest.raises(
        NoRelaxation, match="'z' has process noise, and proofs do not cover averages"
    ):
        relax()
    with pytest.raises(gs.ModelError, match=r"'z' has process noise, which the theorems do not"):
        gs.Theory().check(problem.program)
