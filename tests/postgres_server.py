"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path


def find_program(name: str) -> str | None:
    """Debian keeps the server's programs off the path."""
    found = (
        shutil.which(name)
        or shutil.which(name, path="/usr/sbin")
        or next(iter(sorted(glob(f"/usr/lib/postgresql/*/bin/{name}"))), None)
    )
    return found and os.path.realpath(found)


@contextmanager
def postgres_server() -> Iterator[str | None]:
    """Address of a running server; None where PostgreSQL is not installed."""
    programs = [find_program(name) for name in ("initdb", "postgres")]
    if None in programs:
        yield None
        return
    initdb, postgres = map(str, programs)
    folder = Path(tempfile.mkdtemp(prefix="grisaille-postgres-"))
    who = user_of_servers()
    if who:
        shutil.chown(folder, who["user"])
    data = folder / "data"
    subprocess.run(
        [initdb, "-D", str(data), "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8"],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        **who,
    )
    options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
    server = subprocess.Popen(
        [postgres, "-D", str(data), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        **who,
    )
    address = f"postgresql+psycopg://tester@/postgres?host={folder}"
    try:
        wait_for_server(address)
        yield address
    finally:
        server.send_signal(signal.SIGINT)  # does not wait for clients that are still connected
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def user_of_servers() -> dict[str, str]:
    """The user that a server is to run as, if it is another one: servers refuse to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    return {"user": "postgres" if "postgres" in names else "nobody"}


def wait_for_server(address: str) -> None:
    """Wait until a server that starts takes connections."""
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(address.replace("+psycopg", "")).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
