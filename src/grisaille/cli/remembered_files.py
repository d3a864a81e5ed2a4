"""Which file defines the problem of a study, as this user has said on this machine.

A study names its file too, for people to read. Whoever can write to the database can write any name
there, and to load a file is to run it. So only what is remembered here is run without `--file`.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from grisaille.storage.address import masked
from grisaille.user_folder import user_folder


def remember(storage: str, study: str, file: Path) -> None:
    """Remember the file of a study; says so on standard error if that is not possible."""
    if remembered(storage, study) == file.resolve():
        return
    line = json.dumps({**_key(storage, study), "file": str(file.resolve())})
    try:
        place = _place()
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One short text at the end of the file: processes that write at once do not mix.
        with place.open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")
    except (OSError, RuntimeError) as error:
        print(
            f"grisaille: {file} cannot be remembered for study {study!r} ({error}): pass --file "
            "next time, or name a folder you can write to in the environment variable "
            "XDG_CONFIG_HOME",
            file=sys.stderr,
        )


def remembered(storage: str, study: str) -> Path | None:
    """The file that was remembered last for a study; None if there is none."""
    try:
        lines = _place().read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, RuntimeError):
        return None
    key = _key(storage, study)
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:  # a disk was full
            continue
        if isinstance(found, dict) and key.items() <= found.items() and "file" in found:
            return Path(str(found["file"]))
    return None


def _place() -> Path:
    """The file with what is remembered; raises RuntimeError if the user has no home."""
    return user_folder() / "problem_files.jsonl"


def _key(storage: str, study: str) -> dict[str, str]:
    """What identifies a study; several machines may share a home."""
    from sqlalchemy.engine import make_url

    url = make_url(storage)
    if url.get_backend_name() == "sqlite" and url.database:
        storage = f"sqlite:///{Path(url.database).resolve()}"
    return {"machine": socket.gethostname(), "storage": masked(storage), "study": study}
