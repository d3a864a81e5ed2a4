"""A server of pages as a process of its own, which a test can kill and start again."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[3]
SECONDS_TO_START = 60.0


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class ServerProcess:
    """A command that serves pages on a port, always the same one.

    Args:
        command: The command and its arguments; "{port}" in them becomes the port.
        path: A page that answers once the server is ready.
    """

    def __init__(self, command: Sequence[str], path: str = "/") -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._command = [part.replace("{port}", str(self.port)) for part in command]
        self._path = path
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by `close`

    def start(self) -> None:
        """Start the command, and wait until it answers."""
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )
        end = time.monotonic() + SECONDS_TO_START
        while not self._answers():
            if self._process.poll() is not None:
                raise RuntimeError(f"{self._command} ended and served nothing:\n{self.output}")
            if time.monotonic() > end:
                self.kill()
                raise RuntimeError(
                    f"{self._command} did not answer within {SECONDS_TO_START:g} s:\n{self.output}"
                )
            time.sleep(0.05)

    def _answers(self) -> bool:
        # An error page is an answer, too: the server is there.
        try:
            with urllib.request.urlopen(self.address + self._path, timeout=5):
                return True
        except urllib.error.HTTPError as answer:
            answer.close()
            return True
        except OSError:
            return False

    @property
    def output(self) -> str:
        """What the server has printed so far."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        """Kill it, and start it again on the same port."""
        self.kill()
        self.start()

    def close(self) -> None:
        """End it, and forget what it printed."""
        self.kill()
        self._output.close()
