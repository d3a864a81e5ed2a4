from __future__ import annotations

import pytest

from grisaille.views.page.rendering import in_address, study_name
from tests.views.page.page_helpers import HOSTILE

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["plant", "a/b", "a~2Fb", "ü %", "..", "?#&", HOSTILE])
def test_a_name_comes_back_from_its_address(name: str):
    part = in_address(name)
    assert study_name(part) == name
    assert not set("/?#%&<> ") & set(part)


def test_a_plain_name_is_its_own_address():
    assert in_address("plant-1_b") == "plant-1_b"
