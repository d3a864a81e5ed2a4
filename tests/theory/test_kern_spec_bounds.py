"""Tab. kern_spec_bounds: the rates, and how measured gains really grow."""

import itertools
import math

import numpy as np
import pytest

import grisaille as gs
from grisaille.theory import information_gain as information

pytestmark = pytest.mark.slow


def test_the_rates_are_those_of_the_table():
    steps, d = 1000.0, 3
    log, root = math.log(steps), math.sqrt(steps)
    linear, smooth, matern = gs.Linear(), gs.SquaredExponential(), gs.Matern(2.5)
    nu = 2.5
    gain = {
        linear: d * log,
        smooth: log ** (d + 1),
        matern: steps ** (d / (2 * nu + d)) * log ** (2 * nu / (2 * nu + d)),
    }
    for kernel, value in gain.items():
        assert gs.information_gain_rate(kernel, steps, d) == pytest.approx(value)
        assert gs.regret_rate(kernel, steps, d) == pytest.approx(value * root)
        assert gs.convergence_rate(kernel, steps, d) == pytest.approx(value / root)
    power = (2 * nu + 3 * d) / (4 * nu + 2 * d)
    assert gs.regret_rate(matern, steps, d) == pytest.approx(
        steps**power * log ** (2 * nu / (2 * nu + d))
    )
    power = -(2 * nu - d) / (4 * nu + 2 * d)
    assert gs.convergence_rate(matern, steps, d) == pytest.approx(
        steps**power * log ** (2 * nu / (2 * nu + d))
    )


def test_rates_take_many_steps_at_once():
    steps = np.array([10.0, 100.0])
    for rate in (gs.information_gain_rate, gs.regret_rate, gs.convergence_rate):
        assert rate(gs.Matern(2.5), steps, 2) == pytest.approx(
            [rate(gs.Matern(2.5), s, 2) for s in steps]
        )


def greedy_gains(kernel, count):
    """What greedy choice on a fine grid of [-1, 1] gains: a lower bound of gamma_1, ..."""
    candidates, _ = information._Domain(kernel, (-1.0,), (1.0,)).candidates()
    deviations = itertools.islice(information._largest_deviations(kernel, candidates, 1.0), count)
    return np.cumsum(np.log1p(np.square(list(deviations))) / 2)


# The rates are for the long run: it begins sooner where a length-scale fills half of the interval.
SMOOTH = [
    gs.Linear(1.0, 1.0),
    gs.SquaredExponential(1.0, 1.0),
    gs.Matern(1.5, 1.0, 1.0),
    gs.Matern(2.5, 1.0, 1.0),
]


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_measured_gains_grow_no_faster_than_the_rate_once_under_way(kernel):
    gains = greedy_gains(kernel, 512)
    steps = np.array([128, 256, 512])
    rates = np.array([gs.information_gain_rate(kernel, s, 1) for s in steps])
    assert (np.diff(np.log(gains[steps - 1])) <= np.diff(np.log(rates))).all()


@pytest.mark.parametrize("kernel", [SMOOTH[0], *SMOOTH[2:]], ids=repr)
def test_linear_and_matern_gains_grow_about_as_fast_as_the_rate(kernel):
    gains = greedy_gains(kernel, 512)
    rate = [gs.information_gain_rate(kernel, s, 1) for s in (128, 512)]
    assert gains[511] / gains[127] == pytest.approx(rate[1] / rate[0], rel=0.07)


def test_rougher_kernels_gain_faster():
    growth = [g[511] / g[63] for g in (greedy_gains(k, 512) for k in SMOOTH[:3])]
    assert growth == sorted(growth)


def test_a_rough_kernel_in_many_dimensions_has_no_rate():
    with pytest.raises(gs.ModelError, match=r"smoothness > d / 2, got 1\.5 with d = 3"):
        gs.information_gain_rate(gs.Matern(1.5), 100, 3)
    for steps in (0, "many"):
        with pytest.raises(gs.ModelError, match="both must be numbers of at least 1"):
            gs.regret_rate(gs.Linear(), steps, 1)
    with pytest.raises(gs.ModelError, match="no rate is known for 3"):
        gs.convergence_rate(3, 10, 1)
