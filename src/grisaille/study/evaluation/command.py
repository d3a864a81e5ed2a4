"""Black boxes that are programs: numbers go in and come out as JSON."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np

from grisaille.checks import real_numbers
from grisaille.errors import EvaluationError, ModelError, shortened
from grisaille.study.evaluation.child_process import TemporaryFolder, kill_group, signal_name
from grisaille.study.evaluation.child_script import isolated_folder, kill_when_closed

LAST_LINES = 8
"""How many of the last lines that a failed program printed go into the message."""


def command(template: str, *, directory: str | os.PathLike[str] | None = None) -> Command:
    """A program as the function of a black box: `gs.BlackBox(gs.command("simulate {input}"))`.

    The program is given `{"inputs": [...]}`, one entry per argument: a number for a scalar, nested
    lists for an array. It answers with a number, a list of numbers, or an object: named outputs,
    or all of them under the single key "outputs". What else it prints is shown only if it fails.
    On Linux it is killed, with all it started, if the process that called it is.

    Args:
        template: The program and its arguments, split as a shell would, but no shell runs: `$HOME`,
            `*` and `|` mean nothing. `{input}` and `{output}` become the paths of JSON files;
            without `{input}` the JSON goes to standard input, without `{output}` it is read from
            standard output. Braces that belong to the program are doubled: `{{` and `}}`.
        directory: The folder the program runs in; the current one by default. A relative program
            such as `./simulate` is looked for there.

    Raises:
        ModelError: The template is no command line, or the folder is not there.
    """
    if not isinstance(template, str):
        raise ModelError(
            f"a command is written as text, got {shortened(template)}: pass 'program {{input}} "
            f"{{output}}'"
        )
    try:
        words = tuple(shlex.split(template))
    except ValueError as error:  # shlex says "No closing quotation" or "No escaped character"
        raise ModelError(
            f"command {shortened(template)} cannot be split into words ({str(error).lower()}): "
            "close every quote, and double a backslash that is meant"
        ) from error
    if not words or not words[0]:
        raise ModelError(
            f"command {shortened(template)} names no program: write it as the first word"
        )
    placeholders = frozenset(name for word in words for name in _placeholders(word, template))
    folder = None
    if directory is not None:
        # Absolute, so that it stays valid when the working directory changes.
        if not isinstance(directory, str | os.PathLike) or not str(directory).strip():
            raise ModelError(
                f"command(directory={shortened(directory)}): pass the path of a folder"
            )
        try:
            folder = str(Path(directory).expanduser().absolute())
            is_folder = Path(folder).is_dir()
        except (OSError, ValueError, RuntimeError, TypeError):  # no path at all
            folder, is_folder = str(directory), False
        if not is_folder:
            raise ModelError(
                f"command {shortened(template)} is to run in {shortened(folder)}, which is no "
                "folder: create it, or correct directory="
            )
    return Command(template, folder, words, placeholders)


@dataclass(frozen=True, slots=True)
class Command:
    """A program that can be called like a function; made by `command`.

    Attributes:
        template: The command line, as it was written.
        directory: The folder the program runs in; None for the current one.
        words: The command line, split.
        placeholders: Which of `input` and `output` it names.
    """

    template: str
    directory: str | None
    words: tuple[str, ...]
    placeholders: frozenset[str]

    @property
    def __name__(self) -> str:
        """The program's name as one word, which becomes that of the black box."""
        stem = Path(self.words[0]).name.split(".")[0]
        return re.sub(r"\W+", "_", stem).strip("_") or "command"

    def __call__(self, *inputs: Any) -> Any:
        """Run the program once.

        Raises:
            EvaluationError: It could not be started, failed, or did not answer with JSON numbers.
        """
        text = json.dumps({"inputs": [self._numbers(value) for value in inputs]})
        with _folder_for_one_run() as folder:
            paths = {name: os.path.join(folder, f"{name}.json") for name in ("input", "output")}
            Path(paths["input"]).write_text(text, encoding="utf-8")
            words = [word.format_map(paths) for word in self.words]
            printed, complaints = Path(folder, "stdout"), Path(folder, "stderr")
            status = self._run(words, Path(paths["input"]), printed, complaints)
            if status != 0:
                raise EvaluationError(
                    f"program {self.words[0]!r} {_end(status)}{_last_words(complaints, printed)}"
                )
            if "output" in self.placeholders:
                return self._read(Path(paths["output"]), "{output}")
            return self._read(printed, "standard output")

    def _run(self, words: list[str], input: Path, printed: Path, complaints: Path) -> int:
        """The program's exit status.

        It prints to files, not pipes: files cannot fill up, and no other process that holds them
        open can block us after the program has ended.
        """
        source = os.devnull if "input" in self.placeholders else input
        # In an isolated evaluation the program stays in the group that is killed at the timeout;
        # otherwise it leads its own group, so that we can kill everything it started.
        own_group = isolated_folder() is None
        with (
            open(source, "rb") as stdin,
            open(printed, "wb") as out,
            open(complaints, "wb") as err,
            _lifeline() as lifeline,
        ):
            try:
                process = subprocess.Popen(
                    words,
                    stdin=stdin,
                    stdout=out,
                    stderr=err,
                    cwd=self.directory,
                    start_new_session=own_group,
                    pass_fds=(lifeline,) if own_group else (),
                )
            except OSError as error:
                raise EvaluationError(self._not_started(error)) from error
            with process:
                try:
                    if own_group and sys.platform == "linux":
                        kill_when_closed(lifeline, process.pid)
                    return process.wait()
                finally:
                    if own_group:
                        kill_group(process)
                    else:
                        process.kill()

    def _not_started(self, error: OSError) -> str:
        program = self.words[0]
        if self.directory is not None and not os.path.isdir(self.directory):
            return f"program {program!r} is to run in {self.directory!r}, which is no longer there"
        if isinstance(error, FileNotFoundError):
            where = f"in {self.directory!r}" if self.directory else "in the current folder"
            looked = where if os.path.dirname(program) else "on PATH"
            return (
                f"program {program!r} was not found {looked}: correct its name, give its full "
                "path, or install what its first line (#!) asks for"
            )
        return (
            f"program {program!r} cannot be started ({error.strerror}): it must be an executable "
            "file; a script needs a first line such as #!/bin/sh, or its interpreter before it"
        )

    def _read(self, path: Path, where: str) -> Any:
        program = self.words[0]
        wanted = 'write a number, a list of numbers, or an object such as {"outputs": [1.0, 2.0]}'
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EvaluationError(
                f"program {program!r} ended well but left no file at the path given as {where}: "
                "it must write its JSON there"
            ) from error
        if not data.strip():
            raise EvaluationError(f"program {program!r} wrote nothing to {where}: {wanted}")
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise EvaluationError(
                f"program {program!r} wrote {_beginning(data)} to {where}, which is not JSON "
                f"({error}): {wanted}, and nothing else"
            ) from error
        if isinstance(answer, dict) and answer.keys() == {"outputs"}:
            answer = answer["outputs"]
        if isinstance(answer, bool) or not isinstance(answer, int | float | list | dict):
            raise EvaluationError(
                f"program {program!r} wrote {_beginning(data)} to {where}: {wanted}"
            )
        return answer

    def _numbers(self, value: Any) -> Any:
        try:
            fits = bool(np.isfinite(real_numbers(value)).all())
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise EvaluationError(
                f"program {self.words[0]!r} was called with {shortened(value)}: pass finite real "
                "numbers"
            )
        return np.asarray(value).tolist()

    def __repr__(self) -> str:
        place = f", directory={self.directory!r}" if self.directory is not None else ""
        return f"command({self.template!r}{place})"


def _folder_for_one_run() -> AbstractContextManager[str]:
    """A folder for the files of one run; within that of an isolated evaluation, if it is one."""
    parent = isolated_folder()
    if parent is None:
        return TemporaryFolder()
    # A process that is being killed may still write while the folder is removed.
    return tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True)


@contextmanager
def _lifeline() -> Iterator[int]:
    """One end of a pipe whose other end closes, at the latest, when this process ends.

    The program holds this end open, too: the kernel acts on the pipe only while somebody has it.
    """
    lifeline, ours = os.pipe()
    try:
        yield lifeline
    finally:
        os.close(ours)
        os.close(lifeline)


def _placeholders(word: str, template: str) -> list[str]:
    try:
        parts = list(Formatter().parse(word))
    except ValueError as error:
        raise ModelError(
            f"command {shortened(template)} has a lone brace in {shortened(word)}: write "
            f"{{{{ or }}}} for a brace that belongs to the program"
        ) from error
    names = []
    for _, name, specification, conversion in parts:
        if name is None:
            continue
        if name not in ("input", "output") or specification or conversion:
            written = name + f"!{conversion}" * bool(conversion)
            written += f":{specification}" * bool(specification)
            raise ModelError(
                f"command {shortened(template)} has the placeholder {{{written}}}: there are "
                f"{{input}} and "
                "{output}; write {{ and }} for braces that belong to the program"
            )
        names.append(name)
    return names


def _end(status: int) -> str:
    if status < 0:
        return f"was killed by signal {signal_name(-status)}"
    return f"ended with exit status {status}"


def _last_words(complaints: Path, printed: Path) -> str:
    """The last lines of standard error, or of standard output for programs that complain there."""
    for path, where in ((complaints, "standard error"), (printed, "standard output")):
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - 4000))  # a log may be larger than memory
            lines = stream.read().decode(errors="replace").strip().splitlines()
        if lines:
            return f"; the end of its {where}:\n" + "\n".join(lines[-LAST_LINES:])
    return " and printed nothing"


def _beginning(data: bytes) -> str:
    text = data[:400].decode(errors="replace").strip()
    return repr(text if len(text) <= 80 else text[:80] + "…")
