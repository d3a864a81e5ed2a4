"""Scripts in forks of a process that has imported the library: importing takes seconds.

`ScriptServer.run` is called as `subprocess.run([python, script], ...)` is. Each script runs in a
process of its own, as `__main__`.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any


class ScriptServer:
    """A process that has imported the library and is forked for each script."""

    def __init__(self) -> None:
        # One thread: a process with several cannot be forked safely.
        alone = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **alone},
            text=True,
        )

    def __enter__(self) -> ScriptServer:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def run(
        self, command: list[str], *, cwd: Path, env: dict[str, str], input: str = "", **_: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run the script that follows the interpreter in `command`."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            (place / "0").write_text(input, encoding="utf-8")
            order = {"script": command[1], "cwd": str(cwd), "env": env, "streams": name}
            print(json.dumps(order), file=process.stdin, flush=True)
            code = int(process.stdout.readline())
            out, err = ((place / n).read_text(encoding="utf-8") for n in ("1", "2"))
        return subprocess.CompletedProcess(command, code, out, err)


def serve() -> None:
    """Fork for each line of standard input, and print how each script ended."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            become(json.loads(line))
            return
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def become(order: dict[str, Any]) -> None:
    """Run a script as a new interpreter would; what it raises ends this process."""
    for descriptor, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        opened = os.open(f"{order['streams']}/{descriptor}", mode | os.O_CREAT)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.argv = [order["script"]]
    sys.path[0] = str(Path(order["script"]).parent)
    runpy.run_path(order["script"], run_name="__main__")


if __name__ == "__main__":
    import pandas  # noqa: F401

    import grisaille

    for public in grisaille.__all__:
        getattr(grisaille, public)
    serve()
