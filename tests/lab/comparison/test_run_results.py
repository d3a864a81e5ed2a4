"""The runs of a comparison, grouped."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.lab.comparison.run import Results
from tests.lab.comparison.comparison_helpers import made_up

INF = np.inf


def test_the_start_of_a_seed_without_a_feasible_point_is_the_median_of_the_others():
    values = {0: [4.0, 3.0], 1: [2.0, 1.0], 2: [INF, 1.0]}
    runs = [made_up("wave", "LogEI", s, v, initial=1) for s, v in values.items()]
    assert Results(tuple(runs)).starts("wave") == {0: 4.0, 1: 2.0, 2: 3.0}
    assert Results((runs[2],)).starts("wave") == {2: 1.0}


def test_runs_with_different_budgets_share_no_table():
    runs = (made_up("wave", "LogEI", 0, [1.0] * 5), made_up("wave", "LogEI", 1, [1.0] * 6))
    with pytest.raises(gs.ModelError, match=r"runs on wave have 2 \+ 3 and 2 \+ 4 evaluations"):
        Results(runs)
