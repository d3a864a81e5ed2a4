"""What users rely on is what it was: see `freeze.py`."""

from __future__ import annotations

import pytest

from tests.frozen.freeze import FILES, HERE


@pytest.mark.filterwarnings("ignore::grisaille.GrisailleWarning")
@pytest.mark.parametrize("name", FILES)
def test_what_users_rely_on_is_what_it_was(name: str):
    assert FILES[name]() == (HERE / name).read_text(encoding="utf-8")
