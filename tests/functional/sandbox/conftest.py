"""A snooping adapter, and what it would like to have."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from trialbed.errors import SandboxUnavailable
from trialbed.records import ApiRef, Environment, Limits, ModelEndpoint, ToolSpec, TrialKey, TrialSpec
from trialbed_plugins.datasets import mini
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_plugins.executors.sandbox import check_sandbox

ENTRY_POINTS = "[trialbed.frameworks]\nsnooping = snooping_agent:Agent\n"
GREETING = "what the network has"
SECRET = "a-secret-of-the-run"


@pytest.fixture
def sandbox() -> None:
    """Skips the test where the sandbox cannot be created."""
    try:
        check_sandbox()
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def add_adapter() -> Callable[[Path], Path]:
    """Puts the snooping adapter into a folder of packages."""
    return install


def install(folder: Path) -> Path:
    """Put the snooping adapter into a folder of packages."""
    shutil.copy(Path(__file__).parent / "adversary" / "snooping_agent.py", folder)
    metadata = folder / "snooping_agent-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: snooping-agent\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture
def snooping_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter, installed for workers only; the user's files are beside it in a project's folder."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(install(project)))


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What to get at: files, this process, and sockets that greet."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    files = {"store": project / "runs.db", "dataset": tmp_path / "datasets" / "G1.json", "env_file": project / ".env"}
    for path in files.values():
        path.parent.mkdir(exist_ok=True)
        path.write_text(SECRET)
        path.chmod(0o644)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with contextlib.ExitStack() as stack:
        yield {
            **{name: str(path) for name, path in files.items()},
            "mini": str(Path(mini.__file__).parent),
            "engine": os.getpid(),
            **{name: stack.enter_context(make()) for name, make in SOCKETS.items()},
        }


@contextlib.contextmanager
def _greeter(family: socket.AddressFamily, address: Any) -> Iterator[socket.socket]:
    with socket.create_server(address, family=family) if family != socket.AF_UNIX else _unix(address) as listener:
        threading.Thread(target=_greet, args=(listener,), daemon=True).start()
        yield listener
        # Closing alone would leave the thread in accept.
        listener.shutdown(socket.SHUT_RDWR)


def _unix(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    return listener


def _greet(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(GREETING.encode())


@contextlib.contextmanager
def _tcp(family: socket.AddressFamily = socket.AF_INET, host: str = "127.0.0.1") -> Iterator[int]:
    with _greeter(family, (host, 0)) as listener:
        yield listener.getsockname()[1]


@contextlib.contextmanager
def _udp() -> Iterator[int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        threading.Thread(target=_echo, args=(receiver,), daemon=True).start()
        yield receiver.getsockname()[1]
        # Wakes the thread.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"", receiver.getsockname())


def _echo(receiver: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            data, address = receiver.recvfrom(100)
            if not data:
                return
            receiver.sendto(GREETING.encode(), address)


@contextlib.contextmanager
def _unix_path(kind: socket.SocketKind = socket.SOCK_STREAM) -> Iterator[str]:
    path = f"/tmp/trialbed-test-{secrets.token_hex(6)}.sock"  # a path of pytest's can be too long for a socket
    try:
        if kind == socket.SOCK_DGRAM:
            with socket.socket(socket.AF_UNIX, kind) as receiver:
                receiver.bind(path)
                yield path
        else:
            with _greeter(socket.AF_UNIX, path):
                yield path
    finally:
        Path(path).unlink(missing_ok=True)


@contextlib.contextmanager
def _abstract() -> Iterator[str]:
    name = f"trialbed-test-{secrets.token_hex(6)}"
    with _greeter(socket.AF_UNIX, f"\0{name}"):
        yield name


SOCKETS: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "server": _tcp,
    "other": _tcp,
    "ipv6": lambda: _tcp(socket.AF_INET6, "::1"),
    "udp": _udp,
    "unix": _unix_path,
    "unix_datagrams": lambda: _unix_path(socket.SOCK_DGRAM),
    "abstract": _abstract,
}


@dataclass
class Snooper:
    """Runs the agent's attempts in one trial.

    Attributes:
        held: what the sandbox was found to be made of.
    """

    places: dict[str, Any]
    environments: dict[str, Environment] = field(default_factory=dict)
    held: tuple[str, ...] = ()

    async def __call__(self, *attempts: str, sandbox: bool = True) -> dict[str, str]:
        executor = LocalExecutor(environments=self.environments)
        if sandbox:
            hidden = tuple(Path(self.places[name]) for name in ("store", "env_file"))
            executor.hidden = (*hidden, Path(self.places["dataset"]).parent)
        executor.connect(f"http://127.0.0.1:{self.places['server']}")
        async with executor:
            self.held = (await executor.describe("snooping")).sandbox
            outcome = await executor.execute(self._spec(attempts))
        assert outcome.answer is not None, outcome.failure
        found: dict[str, str] = json.loads(outcome.answer.final_answer)
        return found

    def _spec(self, attempts: tuple[str, ...]) -> TrialSpec:
        api = ApiRef(category="Weather", tool_name="Weather", api_name="now")
        url = f"http://127.0.0.1:{self.places['server']}"
        return TrialSpec(
            trial="trial-000001",
            key=TrialKey(framework="snooping", query_id=1),
            query=json.dumps({**self.places, "attempts": attempts}),
            system_prompt="",
            tools=(ToolSpec(name="Weather_now", description="", parameters={"type": "object"}, api=api),),
            endpoint=ModelEndpoint(base_url=f"{url}/v1", api_key="none", model="none", seed=0),
            limits=Limits(timeout=60),
            server_url=f"{url}/virtual",
        )


@pytest.fixture
def snoop(places: dict[str, Any]) -> Snooper:
    """Runs attempts of the agent in a sandbox: attempt -> what it got, or ``refused: …``."""
    return Snooper(places)
