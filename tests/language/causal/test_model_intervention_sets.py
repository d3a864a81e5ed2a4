"""Which sets of interventions are worth a try."""

from __future__ import annotations

import pytest

import grisaille as gs
from tests.language.causal.causal_helpers import chain_model


def test_minimal_interventions_wants_a_list():
    model, x, _, _ = chain_model()
    for wrong in (gs.do(x, lower=0, upper=1), 3):
        with pytest.raises(gs.ModelError, match=r"minimal_interventions: dos is .*: pass a list"):
            gs.minimal_interventions(model, wrong)
