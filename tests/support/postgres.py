"""A PostgreSQL server for tests, started where its programs are installed; nothing of the system's is touched."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

USER = "trialbed"
DATABASE = "tests"
EMPTY = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid();
DROP SCHEMA public CASCADE;
CREATE SCHEMA public;
"""
"""Ends what is still connected, waits up to 5 s until it has given up its locks, and leaves nothing of it."""

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "32MB",
    # What a test writes need not outlive the machine.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
}
ABSENT = "PostgreSQL is not installed (Debian and Ubuntu: apt-get install postgresql); nothing was tested on it"
NO_USER = "PostgreSQL does not run as root, and there is no user `postgres`; nothing was tested on it"
STARTS = 5
"""How often a server is started anew because another program has taken its port meanwhile."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of the database of this worker's own server: ``postgresql+psycopg://…:1234/tests``.

    Tests that need it are skipped where PostgreSQL is not installed.
    """
    programs = _programs()
    if programs is None:
        pytest.skip(ABSENT)
    if os.getuid() == 0 and not _has_user("postgres"):
        pytest.skip(NO_USER)
    # Not below tmp_path, nor where TMPDIR may be: only its owner may enter that, and its path would be too long for a
    # socket.
    everyones = "/tmp" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="postgres", dir=everyones))
    try:
        _initialize(programs, folder)
        with _running(programs, folder) as port:
            server = f"postgresql://{USER}@127.0.0.1:{port}/"
            _execute(f"{server}postgres", f"CREATE DATABASE {DATABASE}")
            yield f"{server}{DATABASE}".replace("://", "+psycopg://", 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database, which is emptied after the test: to make one anew takes twice as long.

    It is emptied before, too: a test that ends badly hands nothing on.
    """
    plain = postgres_server.replace("+psycopg", "")
    _execute(plain, EMPTY)
    yield postgres_server
    _execute(plain, EMPTY)


def _programs() -> Path | None:
    """The folder of the newest release's programs: Debian keeps those of servers off the path."""
    releases = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: float(file.parts[-3]))
    found = releases[-1] if releases else shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def _has_user(name: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _owner() -> dict[str, Any]:
    """Who runs PostgreSQL, as arguments of subprocess: its programs refuse to run as root."""
    return {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}


def _initialize(programs: Path, folder: Path) -> None:
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    command = [programs / "initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync"]
    done = subprocess.run(
        [*map(str, command), "--locale=C"], cwd=folder, capture_output=True, text=True, check=False, **_owner()
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def _running(programs: Path, folder: Path) -> Iterator[int]:
    """A server's port, for as long as the server runs."""
    for _ in range(STARTS):
        port = _free_port()
        settings = {**SETTINGS, "port": str(port), "unix_socket_directories": str(folder)}
        flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [str(programs / "postgres"), "-D", str(folder / "data"), *flags], cwd=folder, stderr=log, **_owner()
            )
        try:
            if _is_ready(programs, port, server):
                yield port
                return
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    pytest.fail(f"PostgreSQL does not start:\n{(folder / 'log').read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_ready(programs: Path, port: int, server: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers, or has ended; whether it answers."""
    command = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port), "-t", "60"]
    while server.poll() is None:
        if subprocess.run(command, check=False).returncode == 0:
            return server.poll() is None
        time.sleep(0.02)
    return False


def _execute(url: str, statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statements.encode())
