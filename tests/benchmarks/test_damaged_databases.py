"""A sample of damaged databases: no command prints a traceback, hangs, or shows other numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.damaged_databases import Bench, Damage

pytestmark = pytest.mark.slow


SAMPLE = 12


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("damaged"))


def test_there_are_damages_of_every_kind(bench):
    damages = bench.damages(bits=50, cuts=10)
    assert len(damages) > 500
    assert {"missing field", "wrong number", "broken JSON", "flipped bit", "cut off"} < {
        damage.kind for damage in damages
    }


@pytest.mark.parametrize("place", range(SAMPLE))
def test_a_damaged_database_gets_sentences(bench, place):
    damages = bench.damages(bits=100, cuts=20)
    damage = damages[place * len(damages) // SAMPLE]
    for name in bench.names():
        outcome = bench.run(name, damage)
        assert not outcome.is_raw, (damage.what, name, outcome.errors)
        assert not outcome.hung, (damage.what, name)
        if name == "export" and not damage.may_change:
            assert not bench.is_changed(outcome), damage.what


def test_an_undamaged_database_is_read_by_every_command(bench):
    nothing = Damage("nothing", "nothing", lambda _file: None)
    assert [bench.run(name, nothing).code for name in bench.names()] == [0] * len(bench.names())


def test_changed_numbers_would_be_noticed(bench):
    def change(file: Path) -> None:
        from benchmarks.damaged_databases import _sql

        _sql("UPDATE grisaille_events SET time=time+1, checksum=NULL WHERE study=1")(file)

    outcome = bench.run("export", Damage("", "", change))
    assert bench.is_changed(outcome)
