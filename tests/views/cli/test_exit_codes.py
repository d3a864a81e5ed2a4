"""Streams whose reader has gone, or whose disk is full."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys

import pytest

from grisaille.views.cli import main
from grisaille.views.cli.exit_codes import LastingStream
from tests.views.cli.cli_helpers import solved

pytestmark = pytest.mark.slow


class FullDisk(io.StringIO):
    """A stream that takes some characters, and no more."""

    def __init__(self, space: int) -> None:
        super().__init__()
        self._space = space

    def write(self, text: str) -> int:
        self._space -= len(text)
        if self._space < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(text)


def test_what_cannot_be_written_is_dropped_and_the_first_error_kept():
    disk = FullDisk(5)
    stream = LastingStream(disk)
    stream.writelines(["abc", "def", "g"])
    stream.flush()
    assert disk.getvalue() == "abc"
    assert isinstance(stream.error, OSError)
    assert stream.error.errno == errno.ENOSPC


def test_a_stream_that_is_closed_takes_nothing_and_raises_nothing():
    closed = io.StringIO()
    closed.close()
    stream = LastingStream(closed)
    stream.write("abc")
    stream.flush()
    assert isinstance(stream.error, ValueError)


def test_characters_that_a_stream_does_not_know_are_escaped():
    raw = io.BytesIO()
    stream = LastingStream(io.TextIOWrapper(raw, encoding="ascii"))
    stream.write("10 °C")
    stream.flush()
    assert raw.getvalue() == b"10 \\xb0C"
    assert stream.error is None


@pytest.mark.parametrize("space", [0, 200])
def test_a_run_goes_on_to_the_end_on_a_full_disk_and_says_that_its_output_is_lost(
    model, place, state, capsys, monkeypatch, space
):
    file = model(work="print('talking')")
    monkeypatch.setattr(sys, "stdout", FullDisk(space))
    code = main(["solve", file, "--study", "toy", "--storage", place, "--trials", "5"])
    assert code == 4
    assert len(state("toy").history()) == 5
    assert not state("toy").history().failures
    assert "standard output cannot be written" in capsys.readouterr().err


def test_all_answers_are_recorded_although_nobody_reads_that_they_are(
    model, place, state, monkeypatch
):
    assert main(["create", model(), "--study", "toy", "--storage", place]) == 0
    assert main(["ask", "toy", "--storage", place, "-n", "3"]) == 0
    answers = "\n".join(f'{{"id": "{n}-1", "value": 0.5}}' for n in (1, 2, 3))
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    monkeypatch.setattr(sys, "stdout", FullDisk(10))
    assert main(["tell", "toy", "-", "--storage", place]) == 4
    assert len(state("toy").history()) == 3


def test_a_run_whose_reader_has_gone_goes_on_to_the_end(model, place, state):
    file = model(work="print('talking')")
    call = [sys.executable, "-m", "grisaille.views.cli", "solve", file, "--trials", "5"]
    process = subprocess.Popen(
        [*call, "--study", "toy", "--storage", place],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 4, errors
    assert "BrokenPipeError" in errors
    assert "Traceback" not in errors
    assert len(state("toy").history()) == 5


def test_another_failure_keeps_its_own_exit_code(model, place, monkeypatch):
    monkeypatch.setattr(sys, "stdout", FullDisk(0))
    assert solved(model(limited="x * x", least=5), place) == 1


def test_a_stream_that_was_never_open_is_no_reason_to_stop(model, place, state, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["solve", model(), "--study", "toy", "--storage", place, "--trials", "3"]) == 0
    assert len(state("toy").history()) == 3
