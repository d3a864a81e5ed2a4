"""Settings that every test shares."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from tests.postgres_server import postgres_server
from tests.script_server import ScriptServer

# One thread each, so that parallel test workers do not fight over the cores.
torch.set_num_threads(1)

# Repeatable, and never failed by a slow machine.
settings.register_profile("grisaille", deadline=None, derandomize=True)
settings.load_profile("grisaille")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest file, so that both workers end at the same time."""
    items.sort(key=lambda item: item.path.name != "test_examples.py")


@pytest.fixture(scope="session", autouse=True)
def own_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands remember goes to a temporary folder, and no address comes from outside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("configuration")))
        patch.delenv("GRISAILLE_STORAGE", raising=False)
        yield


@pytest.fixture(scope="session")
def scripts() -> Iterator[ScriptServer]:
    """Runs scripts without importing the library for each of them."""
    with ScriptServer() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Address of a PostgreSQL server, started for the tests that ask for it."""
    with postgres_server() as address:
        if address is None:
            pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
        yield address


@pytest.fixture
def empty_postgres(postgres: str) -> str:
    """The same server without studies of other tests."""
    _empty(postgres)
    return postgres


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Every kind of storage there is, empty."""
    if request.param == "memory":
        return "memory"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/study.db"
    return str(request.getfixturevalue("empty_postgres"))


def _empty(address: str) -> None:
    from sqlalchemy import create_engine

    from grisaille.study.log.database import METADATA

    engine = create_engine(address)
    METADATA.drop_all(engine)
    engine.dispose()


@pytest.fixture
def ctrl_c_raises() -> Iterator[None]:
    """SIGINT raises, also if this test run ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
