"""Options of a black box that contradict each other get a sentence."""

from __future__ import annotations

import re

import pytest

import grisaille as gs
from grisaille.language.fingerprint import fingerprint

GIVEN = gs.Matern(lengthscale=1.0, variance=1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": lambda x, y: None}, "your own model has kernels of its own"),
        ({"norm_bound": 2.0, "kernel": GIVEN, "noise": 0}, "theorems ask for the best of all"),
        ({"process_noise": True}, "disturbances of many outputs"),
        ({"lipschitz": 3.0}, "declared slopes cut the band of each output on its own"),
        ({"monotone": "increasing"}, "declared directions cut the band of each output"),
    ],
)
def test_what_a_shared_kernel_cannot_go_with_is_refused(options, words):
    name = next(iter(options))
    with pytest.raises(gs.ModelError, match=re.escape(words)) as caught:
        gs.BlackBox(None, name="field", outputs=40, shared_kernel=True, **options)
    text = str(caught.value)
    assert text.startswith(f"black box 'field' has shared_kernel=True and {name}=")
    assert text.endswith("leave one of the two out")
    gs.BlackBox(None, name="field", outputs=40, shared_kernel=False, **options)


def test_a_shared_kernel_is_a_flag():
    with pytest.raises(gs.ModelError, match="has shared_kernel='yes': pass True or False"):
        gs.BlackBox(None, name="field", outputs=4, shared_kernel="yes")


def test_a_shared_kernel_is_part_of_what_a_problem_is():
    def lines(**options):
        x = gs.Variable("x", lower=0, upper=1)
        y = gs.BlackBox(None, name="y", outputs=3, **options)(x)
        return fingerprint(gs.Problem(minimize=y[0]))

    assert lines() == lines(shared_kernel=False)
    assert "shared_kernel" not in "".join(lines())
    assert "shared_kernel yes" in "".join(lines(shared_kernel=True))


def test_other_contradictions_keep_their_sentences():
    with pytest.raises(gs.ModelError, match="so nothing is learned, but no noise"):
        gs.BlackBox(None, name="h", kernel=GIVEN)
    with pytest.raises(gs.ModelError, match="which is about the space of a given kernel"):
        gs.BlackBox(None, name="h", norm_bound=1.0)
    with pytest.raises(gs.ModelError, match="give the standard deviation of its disturbances"):
        gs.BlackBox(None, name="h", process_noise=True, noise=0)
    with pytest.raises(gs.ModelError, match="which does not tell its disturbances"):
        gs.BlackBox(None, name="h", process_noise=True, model=lambda x, y: None)
