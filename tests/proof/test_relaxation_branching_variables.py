"""We branch on outputs that enter nonlinearly or that another black box reads, on no others."""

from __future__ import annotations

import numpy as np

import grisaille as gs
from grisaille.language.program import Program
from grisaille.proof.relaxation import branched_outputs, lowered

VARIABLES = [
    gs.Variable(name, shape, lower=-2, upper=2)
    for name, shape in zip("abuv", ((), (), (3,), (2, 3)), strict=True)
]
single = gs.BlackBox(None, name="single")
paired = gs.BlackBox(None, name="paired", outputs=2)
white = gs.WhiteBox(lambda y: y, name="white", lipschitz=3.0)


def four(a, b):
    return np.stack([np.mean(a), np.sum(b), np.max(a), 0.5])


def branched(*expressions) -> list[bool]:
    return branched_outputs(Program(lowered(list(expressions)), VARIABLES)).tolist()


def test_sums_and_known_factors_need_no_branching():
    a, b, u, _ = VARIABLES
    z = single(a)
    assert branched(z) == [False]
    assert branched(z * a) == [False]
    assert branched(z / a - 3 * z + np.exp(a) * z) == [False]
    assert branched(-z, z + b, np.sum(z * u)) == [False]
    assert branched(np.stack([z, b])[0] * 2) == [False]
    assert branched(np.stack([z, b]) @ np.stack([a, b])) == [False]


def test_everything_else_does():
    a, b, *_ = VARIABLES
    z = single(a)
    for nonlinear in (
        z**2,
        z * z,
        z * (1 + z),
        np.exp(z),
        abs(z),
        a / z,
        b / (z + 7),
        np.maximum(z, b),
        np.minimum(z, b),
        np.where(a <= b, z, 1.0),
        np.where(z <= b, a, 1.0),
        white(z),
        b**z,
    ):
        assert branched(nonlinear) == [True]
    assert branched(z, b - z**2) == [True]


def test_of_two_outputs_only_those_that_are_bent_are_branched():
    a, b, u, _ = VARIABLES
    z, w = single(a), single(b)
    assert branched(z * w) == [True, True]
    assert branched(z * a + w**2) == [False, True]
    pair = paired(four(a, u))
    assert branched(pair[0] + pair[1] ** 2) == [False, True]
    assert branched(pair[0] + a * pair[1]) == [False, False]
    assert branched(pair * pair[0]) == [True, True]
    assert branched(np.where(z <= 0, a, w)) == [True, True]


def test_what_another_black_box_reads_is_branched():
    a, b, u, _ = VARIABLES
    z = single(a)
    assert branched(single(z)) == [True, False]
    assert branched(single(0.5 * z + b)) == [True, False]
    pair = paired(four(a, u))
    assert branched(single(pair[1]) + pair[0]) == [False, True, False]
    assert branched(single(pair[0] + pair[1]) ** 2) == [True, True, True]


def test_a_white_box_is_nonlinear_in_all_that_any_of_its_arguments_read():
    a, b, u, _ = VARIABLES
    pair = paired(four(a, u))
    both = gs.WhiteBox(lambda y, x: y + x, name="both", lipschitz=1.0)
    assert branched(both(pair[0], b)) == [True, False]
    assert branched(both(pair[0], single(b) + pair[0])) == [True, False, True]
    vector_in = gs.WhiteBox(lambda y: y[0], name="vector_in", lipschitz=1.0)
    assert branched(vector_in(pair)) == [True, True]
