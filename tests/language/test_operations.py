"""The table of operations has no hole that it does not explain."""

import numpy as np
import pytest

from grisaille.language import operations, slopes, unit_rules
from grisaille.language.operations import ATOMS


@pytest.mark.parametrize("atom", ATOMS, ids=lambda atom: atom.name)
def test_a_row_has_every_column_or_says_why_not(atom):
    is_missing = {
        "numpy": not atom.numpy,
        "slope": atom.slope is slopes.unknown,
        "enclose": atom.enclose is None,
        "unit": atom.unit is unit_rules.UNKNOWN,
    }
    holes = {column for column, missing in is_missing.items() if missing}
    assert holes == set(atom.gaps), f"{atom.name}: fill {holes} or explain it in gaps="
    assert all(atom.gaps.values())


def test_no_function_of_numpy_is_recorded_twice():
    recorded = [function for atom in ATOMS for function in atom.numpy]
    assert len(set(recorded)) == len(recorded)
    assert {np.add, np.fabs, np.sum, np.amax} <= set(recorded)


def test_a_new_row_with_a_hole_is_told():
    atom = operations.elementwise("hypot", None, np.hypot, None, None, unit_rules.UNKNOWN)
    with pytest.raises(AssertionError, match="hypot: fill"):
        test_a_row_has_every_column_or_says_why_not(atom)
