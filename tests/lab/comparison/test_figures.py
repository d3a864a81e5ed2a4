"""How strategies look in figures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from grisaille.lab.comparison.figures import spread, style_of


def test_labels_keep_their_distance_and_move_no_further_than_they_must():
    assert spread([0.1, 0.5], 0.1) == pytest.approx([0.1, 0.5])
    assert spread([0.4, 0.4], 0.1) == pytest.approx([0.35, 0.45])
    assert spread([1.0, 1.0], 0.1) == pytest.approx([0.9, 1.0])
    places = spread(sorted(np.random.default_rng(0).random(8)), 0.06)
    assert all(b - a > 0.06 - 1e-9 for a, b in itertools.pairwise(places))


def test_strategies_look_different():
    order = ["Optimistic", *(f"rival {i}" for i in range(10))]
    assert len({style_of(name, order, "Optimistic") for name in order}) == len(order)
