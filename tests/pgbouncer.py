"""A pgbouncer of the tests' own, in front of their PostgreSQL server."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.postgres_server import find_program, user_of_servers, wait_for_server

SETTINGS = """
[databases]
postgres = host={server} dbname=postgres user=tester
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
pool_mode = {mode}
default_pool_size = 3
"""


@contextmanager
def pgbouncer(address: str, mode: str) -> Iterator[str | None]:
    """Address of a pooler that shares three connections; None where pgbouncer is not installed.

    Args:
        address: The server's address.
        mode: What a client has a connection for: `session`, `transaction` or `statement`.
    """
    program = find_program("pgbouncer")
    if program is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="grisaille-pgbouncer-"))
    server = sa.make_url(address).query["host"]
    settings = folder / "pgbouncer.ini"
    settings.write_text(SETTINGS.format(server=server, folder=folder, mode=mode))
    who = user_of_servers()
    if who:
        shutil.chown(folder, who["user"])
    pooler = subprocess.Popen(
        [program, str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who
    )
    pooled = f"postgresql+psycopg://tester@/postgres?host={folder}&port=6432"
    try:
        wait_for_server(pooled)
        yield pooled
    finally:
        pooler.kill()
        pooler.wait()
        shutil.rmtree(folder, ignore_errors=True)
