"""A sample of the wrong command lines; `python -m benchmarks.wrong_inputs` tries all."""

from __future__ import annotations

import pytest
from benchmarks.wrong_inputs.command_lines import Folder, WrongCommand, wrong_commands
from benchmarks.wrong_inputs.outcome import ACCEPTED, REFUSED

pytestmark = pytest.mark.slow


COMMANDS = wrong_commands()
# Every so many of the command lines are tried; a prime, so that commands get different mistakes.
EVERY = 7
PARTS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("wrong"))


@pytest.mark.parametrize("part", range(PARTS))
def test_wrong_command_lines_end_with_a_sentence_and_an_exit_code(folder: Folder, part: int):
    chosen = COMMANDS[::EVERY][part::PARTS]
    found = {command.name: folder.outcome(command) for command in chosen}
    assert {name: ended for name, ended in found.items() if ended.kind != REFUSED} == {}


def test_a_right_command_line_is_accepted(folder: Folder):
    assert folder.outcome(WrongCommand(("status",))).kind == ACCEPTED
    assert folder.outcome(WrongCommand(("ask", "s", "--file", "model.py"))).kind == ACCEPTED


def test_the_study_is_as_before_after_each_command_line(folder: Folder):
    told = WrongCommand(("tell", "s", "1-1", "0.5", "--file", "model.py"))
    assert [folder.outcome(told).kind for _ in range(2)] == [ACCEPTED, ACCEPTED]
