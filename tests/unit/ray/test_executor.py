"""The executor ``ray`` and the program beside it, which is played: no cluster is needed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.contracts import LostTrial, Sandbox
from trialbed.errors import DriverBroken, DriverNotFound, NothingMeasured, UsageError
from trialbed.records import Environment, Limits, ModelEndpoint, Outcome, TrialKey, TrialSpec
from trialbed_ray import _link
from trialbed_ray import executor as executor_module
from trialbed_ray.executor import RayExecutor

BRIDGE = """
import json, os, sys

def say(**message):
    print(json.dumps(message), flush=True)

order = json.loads(sys.stdin.readline())
with open("orders", "a") as file:
    file.write(json.dumps([order, dict(os.environ)]) + "\\n")
say(type="connected", host="10.0.0.7")
for place in range(1, order["places"] + 1):
    say(type="open", place=place, node=f"node-{place % 2}")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "shun":
        with open("shunned", "a") as file:
            file.write(f"{asked['place']}\\n")
    if asked["type"] == "lose":
        for place in (1, 3):
            say(type="gone", place=place, reason="its plug was pulled")
    if asked["type"] != "ask":
        continue
    answer = {"type": "answered", "number": asked["number"]}
    argument = asked["argument"]
    if asked["method"] == "describe":
        known = {"name": argument, "version": "1", "adapter": "a", "adapter_version": "1", "python": "3"}
        refused = {"error": "DriverNotFound", "message": "no such framework"}
        broken = {"error": "SandboxUnavailable", "message": "no bubblewrap"}
        if argument == "fatal" or argument == "fragile" and asked["place"] == 1:
            say(**answer, lost="out of memory")
            continue
        say(**answer, **{"unknown": refused, "boxed": broken}.get(argument, {"result": json.dumps(known)}))
    elif asked["method"] == "connect":
        say(**answer)
    else:
        query = json.loads(argument)["query"]
        if query == "end the cluster":
            sys.exit("[2026-11-27 03:38:39,003 W 229 229] rpc_client.h:153: no answer of the head within 5 seconds.")
        if query == "be lost":
            say(type="gone", place=asked["place"], reason="out of memory")
            say(**answer, lost="out of memory")
        elif query == "full disk" or asked["place"] == 1 and query == "full disk there":
            say(**answer, error="OSError", message="no space left")
        elif query == "garbage":
            print("no message", flush=True)
        elif query != "wait":
            found = {"started_at": "2026-01-01T00:00:00Z", "wall_time": 1.0, "answer": {"final_answer": "yes"}}
            say(**answer, result=json.dumps(found))
"""


def spec(query: str, framework: str = "f") -> TrialSpec:
    return TrialSpec.at(
        "http://10.0.0.7:1/t/trial-token",
        ModelEndpoint(base_url="", api_key="none", model="none"),
        key=TrialKey(framework=framework, query_id=1),
        query=query,
        system_prompt="",
        tools=(),
        limits=Limits(timeout=60),
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the played bridge runs."""
    (tmp_path / "trialbed_ray").mkdir()
    (tmp_path / "trialbed_ray" / "__init__.py").touch()
    (tmp_path / "trialbed_ray" / "bridge.py").write_text(BRIDGE, encoding="utf-8")
    monkeypatch.setattr(_link, "AGAIN", 0.0)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@asynccontextmanager
async def entered(**attributes: Any) -> AsyncIterator[RayExecutor]:
    executor = RayExecutor(environments={"f": Environment(python="/here/python", lock="f==1")})
    executor.concurrency = 4
    for name, value in attributes.items():
        setattr(executor, name, value)
    async with executor:
        await until(lambda: len(executor.nodes()) == min(2, executor.concurrency))
        for node in executor.nodes():
            executor.accept(node.name)
        yield executor


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - a program announces nothing else
            await asyncio.sleep(0.01)


async def test_places_are_found_described_and_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of-the-cluster")
    sandbox = Sandbox("process", (folder / "store",))
    async with entered(sandbox=sandbox, options={"memory": "512M", "cpus": "0.5"}) as executor:
        executor.connect("http://10.0.0.7:1")
        assert executor.server_host() == "10.0.0.7"
        assert [(node.name, node.capacity) for node in executor.nodes()] == [("node-0", 2), ("node-1", 2)]
        assert (await executor.describe("f", "node-1")).name == "f"
        with pytest.raises(DriverNotFound, match=r"no such framework \(on the node node-0\)"):
            await executor.describe("unknown", "node-0")
        with pytest.raises(NothingMeasured, match="no bubblewrap"):
            await executor.describe("boxed", "node-0")
        outcome = await executor.execute(spec("good"))
        assert isinstance(outcome, Outcome)
        assert outcome.node == "node-1", "a worker of the framework waits there"
    written = (folder / "orders").read_text(encoding="utf-8")
    assert '"memory": 536870912' in written
    assert '"cpus": 0.5' in written
    assert '"locks": {"f": "f==1"}' in written
    assert '"sandbox": "process"' in written
    assert "/here/python" not in written
    assert "sk-canary" not in written
    assert "of-the-cluster" in written


@pytest.mark.usefixtures("folder")
async def test_a_lost_place_costs_its_trial_and_no_other() -> None:
    async with entered() as executor:
        lost = await executor.execute(spec("be lost"))
        assert isinstance(lost, LostTrial)
        assert lost.reason == "out of memory"
        assert sum(node.capacity for node in executor.nodes()) == 3
        assert isinstance(await executor.execute(spec("full disk")), LostTrial)
        assert isinstance(await executor.execute(spec("good")), Outcome)
        waiting = [asyncio.create_task(executor.execute(spec("wait"))) for _ in range(5)]
        await executor.lose("node-1")
        await until(lambda: len(executor.nodes()) == 1)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.usefixtures("folder")
async def test_a_place_that_is_lost_while_it_describes_is_not_its_node() -> None:
    async with entered() as executor:
        assert (await executor.describe("fragile", "node-1")).name == "fragile"
        assert [(node.name, node.capacity) for node in executor.nodes()] == [("node-0", 2), ("node-1", 1)]
        with pytest.raises(DriverBroken, match="node-0 was lost while it described fatal: out of memory"):
            await executor.describe("fatal", "node-0")
        assert [node.name for node in executor.nodes()] == ["node-1"]


async def test_a_node_that_is_refused_gives_up_its_places_as_their_trials_end(folder: Path) -> None:
    async with entered() as executor:
        waiting = [asyncio.create_task(executor.execute(spec("wait"))) for _ in range(3)]
        await asyncio.sleep(0)
        executor.refuse("node-1")
        assert [(node.name, node.capacity) for node in executor.nodes()] == [("node-0", 2), ("node-1", 2)]
        assert isinstance(await executor.execute(spec("good")), Outcome)
        waiting[0].cancel()
        await asyncio.gather(waiting[0], return_exceptions=True)
        assert [(node.name, node.capacity) for node in executor.nodes()] == [("node-0", 2), ("node-1", 1)]
        await until(lambda: (folder / "shunned").exists())
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    assert (folder / "shunned").read_text(encoding="utf-8").split() == ["1", "3"]


@pytest.mark.usefixtures("folder")
async def test_the_end_of_the_cluster_costs_trials_a_repetition() -> None:
    async with entered() as executor:
        waiting = asyncio.create_task(executor.execute(spec("wait")))
        await asyncio.sleep(0)
        lost = await executor.execute(spec("end the cluster"))
        assert isinstance(lost, LostTrial)
        assert isinstance(await waiting, LostTrial)
        await until(lambda: executor.absence == "no answer of the head within 5 seconds.")
        await until(lambda: sum(node.capacity for node in executor.nodes()) == 4)
        assert isinstance(await executor.execute(spec("good")), Outcome)


@pytest.mark.usefixtures("folder")
async def test_a_place_that_can_run_nothing_is_not_used_again() -> None:
    async with entered() as executor:
        assert isinstance(await executor.execute(spec("full disk there")), LostTrial)
        assert [(node.name, node.capacity) for node in executor.nodes()] == [("node-0", 2), ("node-1", 1)]
        for _ in range(3):
            assert isinstance(await executor.execute(spec("full disk there")), Outcome)


@pytest.mark.usefixtures("folder")
async def test_a_message_that_cannot_be_read_costs_a_bridge() -> None:
    async with entered() as executor:
        waiting = asyncio.create_task(executor.execute(spec("wait")))
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            assert isinstance(await executor.execute(spec("garbage")), LostTrial)
            assert isinstance(await waiting, LostTrial)
            assert "had to be ended" in executor.absence
            assert isinstance(await executor.execute(spec("good")), Outcome)


async def test_a_cluster_that_gives_no_places_any_more_is_connected_with_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_module, "RENEWALS", (0.05, 3600.0))
    async with entered(concurrency=1) as executor:
        assert isinstance(await executor.execute(spec("be lost")), LostTrial)
        await until(lambda: len(executor.nodes()) == 1)
        assert isinstance(await executor.execute(spec("good")), Outcome)
    assert len((folder / "orders").read_text(encoding="utf-8").splitlines()) == 2


async def test_a_cluster_that_is_not_there_is_named_with_the_reason(folder: Path) -> None:
    text = "import sys\nsys.exit('there is no cluster at 10.0.0.9:6379')\n"
    (folder / "trialbed_ray" / "bridge.py").write_text(text, encoding="utf-8")
    executor = RayExecutor()
    executor.options = {"patience": "5"}
    with pytest.raises(NothingMeasured, match=r"no cluster at 10\.0\.0\.9:6379; start one with `ray start --head`"):
        async with executor:
            """Never entered."""


@for_each(
    "options, text",
    [
        ({"cpus": "none"}, "cpus: 'none' is not a number above 0"),
        ({"patience": "-1"}, "patience: '-1' is not a number above 0"),
        ({"memory": "much"}, "memory: 'much' is not an amount of memory"),
        ({"adress": "here"}, "adress: this executor has no such option"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: sys)
    with pytest.raises(UsageError, match=text):
        RayExecutor.check_options(options)


def test_it_says_how_to_install_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'trialbed\[ray\]'"):
        RayExecutor.check_options({})
    assert os.environ.get("RAY_ADDRESS", "") == ""
