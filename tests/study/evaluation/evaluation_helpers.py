"""What tests of child processes share."""

import os
import time
from pathlib import Path

LONG = 60.0  # far beyond what any evaluation here needs: only a hang takes as long

STUCK = """
    def stuck(folder):
        import ctypes, os, pathlib, subprocess
        sleeper = subprocess.Popen(["sleep", "600"])
        note = pathlib.Path(folder, "note")
        note.write_text(f"{os.getpid()} {sleeper.pid}")
        note.rename(pathlib.Path(folder, "pids"))
        ctypes.PyDLL(None).sleep(600)  # holds the interpreter lock: no Python thread can run
"""


def is_gone(pid: int) -> bool:
    """Whether a process is dead, or a zombie that nobody has collected."""
    for _ in range(1000):
        status = Path(f"/proc/{pid}/status")
        try:
            os.kill(pid, 0)
            if status.exists() and "State:\tZ" in status.read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):  # the latter if it went in between
            return True
        time.sleep(0.01)
    return False


def pids_in(folder: Path) -> list[int]:
    """Numbers of the processes that noted themselves in a folder, once they have."""
    for _ in range(3000):
        if (folder / "pids").exists():
            return [int(pid) for pid in (folder / "pids").read_text().split()]
        time.sleep(0.01)
    raise AssertionError("no process noted its number")
