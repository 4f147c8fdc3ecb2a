"""A place on a node; Ray, which only names the node, is played."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import psutil
import pytest
from support.hostile_agents import install_hostile_agents

from trialbed.errors import DriverBroken
from trialbed.records import FrameworkInfo, Limits, ModelEndpoint, Outcome, TrialKey, TrialSpec
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_ray._place import Place

SERVER = "http://127.0.0.1:9"


def spec(does: str) -> str:
    return TrialSpec.at(
        f"{SERVER}/t/trial-token",
        ModelEndpoint(base_url="", api_key="none", model="none"),
        key=TrialKey(framework="hostile", query_id=1),
        query=does,
        system_prompt="",
        tools=(),
        limits=Limits(timeout=60),
    ).model_dump_json()


@contextmanager
def opened(hidden: list[str] | None = None) -> Iterator[Place]:
    place = Place(locks={}, hidden=hidden, options={"memory": "1G"})
    assert place.open() == "10.0.0.8/4711de"
    yield place
    place.close()


@pytest.fixture(autouse=True)
def on_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    environment = dict(os.environ)
    util = SimpleNamespace(get_node_ip_address=lambda: "10.0.0.8")
    context = SimpleNamespace(get_node_id=lambda: "4711deadbeef")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(util=util, get_runtime_context=lambda: context))
    install_hostile_agents(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    yield
    # Places forget most of what is there.
    os.environ.clear()
    os.environ.update(environment)


def test_a_place_describes_runs_trials_and_says_what_cannot_be_done() -> None:
    with opened() as place:
        kind, info = place.call("describe", "hostile", "")
        assert (kind, FrameworkInfo.model_validate_json(info).name) == ("FrameworkInfo", "hostile")
        kind, outcome = place.call("execute", spec("good"), info, SERVER)
        assert kind == "Outcome"
        assert Outcome.model_validate_json(outcome).answer is not None
        assert place.call("execute", spec("good"), None, SERVER)[0] == "Outcome"
        assert place._runner.executor.waited is not None, "the time that a trial waits for its model is not its own"
        assert place.call("describe", "no-such-framework", SERVER)[0] == "DriverNotFound"
        other = FrameworkInfo.model_validate_json(info).model_copy(update={"version": "0.0.0"})
        kind, text = place.call("execute", spec("good"), other.model_dump_json(), SERVER)
        assert (kind, "version 0.0.0 and " in text) == ("UnfitNode", True)


def test_a_place_forgets_the_keys_of_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"RAY_AUTH_TOKEN": "of-the-cluster", "TRIALBED_MEMORY_LIMIT": "7G"}
    for name, value in {"OPENAI_API_KEY": "sk-canary", "TRIALBED_TOKEN": "sk-canary", **own}.items():
        monkeypatch.setenv(name, value)
    with opened():
        assert "sk-canary" not in os.environ.values()
        assert own.items() <= os.environ.items()


def test_workers_of_a_place_are_in_the_sandbox_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[tuple[Path, ...] | None] = []

    async def describe(self: LocalExecutor, _: str) -> NoReturn:
        entered.append(self.hidden)
        raise DriverBroken("no worker")

    monkeypatch.setattr(LocalExecutor, "describe", describe)
    (tmp_path / "store").touch()
    for hidden in ([str(tmp_path / "store"), str(tmp_path / "on-the-other-machine-only")], None):
        with opened(hidden) as place:
            assert place.call("describe", "hostile", SERVER) == ("DriverBroken", "no worker")
    assert entered == [(tmp_path / "store",), None]


def test_a_place_ends_its_workers_when_it_closes() -> None:
    before = psutil.Process().children()  # other tests may leave a server running beside this one
    with opened() as place:
        place.call("describe", "hostile", SERVER)  # its worker has loaded before the place closes
        running = threading.Thread(target=place.call, args=("execute", spec("sleep"), None, SERVER))
        running.start()
        while not (workers := [one for one in psutil.Process().children() if one not in before]):
            threading.Event().wait(0.01)
        workers += [inner for one in workers for inner in one.children(recursive=True)]
    running.join(60)
    assert not [one for one in workers if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
