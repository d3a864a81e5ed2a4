"""Which of many observations a surrogate rests on."""

import numpy as np
import torch

from grisaille.belief.processes.kernels import Hyperparameters, Matern
from grisaille.belief.processes.posterior import least_told_rows, telling_rows, typical_rows


def rows(n=200, d=2, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, d))


def sizes(d=2):
    one = torch.ones(1, dtype=torch.float64)
    return Hyperparameters(torch.full((1, d), 0.5).double(), one, 0 * one, 0 * one, 0 * one)


def test_all_of_few_rows_are_taken():
    assert typical_rows(rows(20), 20) == list(range(20))
    x = torch.tensor(rows(20))
    assert telling_rows(Matern(), sizes(), x, x[:1], 20) == list(range(20))


def test_typical_rows_are_so_many_and_in_order():
    chosen = typical_rows(rows(), 60)
    assert len(chosen) == 60
    assert chosen == sorted(set(chosen))


def test_typical_rows_leave_no_part_of_space_out():
    inputs = np.concatenate([np.full((500, 2), 0.5) + 1e-3 * rows(500), [[0.0, 0.0], [1.0, 1.0]]])
    assert {500, 501} <= set(typical_rows(inputs, 20))


def test_typical_rows_keep_an_input_that_was_asked_twice():
    inputs = rows(400)
    inputs[333] = inputs[222]
    assert {222, 333} <= set(typical_rows(inputs, 40))


def test_telling_rows_hold_those_next_to_a_place():
    inputs = rows()
    place = np.array([[0.3, 0.6]])
    nearest = np.linalg.norm(inputs - place, axis=1).argsort()[:25]
    chosen = telling_rows(Matern(), sizes(), torch.tensor(inputs), torch.tensor(place), 50)
    assert set(nearest) <= set(chosen)
    assert 40 <= len(chosen) <= 50


def test_the_least_told_row_is_the_one_of_largest_remaining_variance():
    x = rows(40)
    correlation = Matern().correlation(torch.tensor(2 * x), torch.tensor(2 * x)).numpy()
    chosen: list[int] = []
    for _ in range(10):  # by the textbook: the variance left given all that were chosen
        known = correlation[np.ix_(chosen, chosen)]
        cross = correlation[:, chosen]
        left = 1 - np.einsum("ij,ji->i", cross, np.linalg.solve(known, cross.T)) if chosen else 1
        chosen.append(int(np.argmax(left * np.ones(40))))
    assert least_told_rows(Matern(), torch.tensor(2 * x).unsqueeze(0), 10, 0.0) == chosen
