"""Whether answers are noisy is concluded from the answers themselves."""

import numpy as np

from grisaille.belief.processes.noise import judge_noise

INPUTS = np.array([[0.0], [0.5], [1.0]])
OUTPUTS = np.array([[0.1], [-1.0], [0.9]])


def test_little_evidence_leaves_a_black_box_exact_and_much_does_not():
    few, many = (
        judge_noise(INPUTS, OUTPUTS, np.array([1.9])),
        judge_noise(INPUTS, OUTPUTS, np.array([2.1])),
    )
    assert few.is_exact
    assert few.reason == (
        "without noise: nothing in its answers shows any (evidence 3.8, noise would need 4.0)"
    )
    assert not many.is_exact
    assert many.reason == (
        "noisy: noise explains its answers much better (evidence 4.2, above 4.0)"
    )


def test_several_outputs_need_more_evidence_because_chance_has_more_tries():
    assert not judge_noise(INPUTS, OUTPUTS, np.array([2.5])).is_exact
    assert judge_noise(INPUTS, np.tile(OUTPUTS, 3), np.array([0.0, 2.5, 0.0])).is_exact


def test_repeated_inputs_decide_whatever_the_likelihood_says():
    inputs = np.vstack([INPUTS, INPUTS[:1]])
    same, other = np.vstack([OUTPUTS, OUTPUTS[:1]]), np.vstack([OUTPUTS, OUTPUTS[:1] + 0.01])
    exact = judge_noise(inputs, same, np.array([100.0]))
    assert exact.is_exact
    assert exact.reason == "without noise: 1 repeated input gave the same answer again"
    noisy = judge_noise(inputs, other, np.array([0.0]))
    assert not noisy.is_exact
    assert noisy.reason == "noisy: 1 repeated input gave different answers"
