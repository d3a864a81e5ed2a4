import itertools

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import History
from grisaille.theory.amplification import Source, known_slopes, lipschitz

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("signs", list(itertools.product((-1.0, 1.0), repeat=3)))
def test_slopes_of_a_known_part_are_found_at_every_corner(signs):
    """The slopes of (1 + s_1 y_1) (1 + s_2 y_2) (1 + s_3 y_3) are largest, 4, at y = s."""
    x = gs.Variable("x", lower=-1, upper=1)
    y = gs.BlackBox(None, name="f", outputs=3, lower=-1, upper=1)(x)
    problem = gs.Problem(minimize=np.prod(1 + np.array(signs) * y))
    slopes = known_slopes(problem.program, History()).outputs
    assert slopes == pytest.approx(np.full((1, 3), 4.0), abs=0)


def test_slopes_are_found_at_every_corner_of_any_three_of_many_outputs():
    """With 30 outputs not every corner is visited, but every corner of some outputs is."""
    x = gs.Variable("x", lower=-1, upper=1)
    y = gs.BlackBox(None, name="f", outputs=30, lower=-1, upper=1)(x)
    for chosen in ([0, 1, 2], [0, 14, 29], [20, 21, 22]):
        for signs in itertools.product((-1.0, 1.0), repeat=3):
            problem = gs.Problem(minimize=np.prod(1 + np.array(signs) * y[chosen]))
            slopes = known_slopes(problem.program, History()).outputs
            assert slopes[:, chosen] == pytest.approx(np.full((1, 3), 4.0), abs=0)


def test_slopes_of_a_sum_of_kernels_follow_from_its_norm_and_no_function_is_steeper():
    parts = gs.SquaredExponential(0.5, 0.6), gs.Linear(2.0, 0.4)
    kernel = parts[0].on(0) + parts[1]
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = gs.BlackBox(None, name="f", noise=0, kernel=kernel, norm_bound=3.0)
    problem = gs.Problem(minimize=f(x))
    found = lipschitz(problem.program, f, None, History())
    assert found.source is Source.NORM
    expected = 3 * np.sqrt([0.6 / 0.25 + 0.4 / 4, 0.4 / 4])
    np.testing.assert_allclose(found.constants, expected[None])
    product = gs.BlackBox(None, name="g", noise=0, kernel=parts[0] * parts[1], norm_bound=3.0)
    problem = gs.Problem(minimize=product(x))
    with pytest.raises(gs.ModelError, match="does not follow from its norm bound and kernel: pass"):
        lipschitz(problem.program, product, None, History())
