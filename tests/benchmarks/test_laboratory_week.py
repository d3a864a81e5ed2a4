"""A short week in the simulated laboratory; `benchmarks.laboratory_week` plays whole ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.laboratory_week import (
    OLD,
    QUICK,
    best_profit,
    check_nothing_is_lost,
    found,
    play,
    profit,
)

pytestmark = pytest.mark.slow


def test_a_week_through_files_and_commands_loses_nothing(tmp_path: Path):
    week = play(tmp_path, seed=0, clean=False, questions=18, extra=QUICK)
    assert week.asked == 18
    assert len(week.corrected) == 2
    assert len(week.failed) == 1
    assert week.changed
    kept = check_nothing_is_lost(week)
    assert kept == {"typed": 17, "corrected": 2, "of last year": len(OLD)}
    end = found(week)
    assert end["true colour"] <= 30.3
    # At least as good as the best of last year's batches that has this colour.
    assert end["true value"] >= max(profit(x) for x in OLD if x[0] <= 55) - 0.5
    assert end["interval"][0] <= best_profit() <= end["interval"][1]
    transcript = "\n".join(week.terminal.lines)
    assert "as done at celsius = " in transcript
    assert "the problem was changed: all answers are kept" in transcript
