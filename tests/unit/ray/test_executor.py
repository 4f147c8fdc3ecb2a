"""The executor ``ray`` and the program beside it, which is played: no cluster is needed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.played_bridge import BRIDGE

from trialbed.contracts import LostTrial
from trialbed.errors import DriverError, DriverNotFound, NothingMeasured, UsageError
from trialbed.records import Environment, Limits, ModelEndpoint, Outcome, TrialKey, TrialSpec
from trialbed_ray import executor as executor_module
from trialbed_ray.executor import RayExecutor

NODE_0, NODE_1 = "10.0.0.8/node-0", "10.0.0.8/node-1"


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
    monkeypatch.setattr(executor_module, "AGAIN", 0.0)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@asynccontextmanager
async def entered(**attributes: Any) -> AsyncIterator[RayExecutor]:
    executor = RayExecutor(environments={"f": Environment(python="/here/python", lock="f==1")})
    executor.concurrency = 4
    for name, value in attributes.items():
        setattr(executor, name, value)
    async with executor:
        await until(lambda: places(executor).total() == executor.concurrency)
        executor.connect("http://10.0.0.7:1")
        await executor.describe("f")
        yield executor


def places(executor: RayExecutor) -> Counter[str]:
    """Node -> the number of its places."""
    return Counter(place.node for place in executor.places.values())


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - a program announces nothing else
            await asyncio.sleep(0.01)


async def test_places_are_found_described_and_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of-the-cluster")
    async with entered(hidden=(folder / "store",), options={"memory": "512M", "cpus": "0.5"}) as executor:
        assert executor.server_host() == "127.0.0.1"
        assert places(executor) == {NODE_0: 2, NODE_1: 2}
        assert (await executor.describe("f")).name == "f"
        with pytest.raises(DriverNotFound, match=r"no such framework \(on the node 10\.0\.0\.8/node-1\)"):
            await executor.describe("unknown")
        with pytest.raises(NothingMeasured, match="no pyseccomp"):
            await executor.describe("boxed")
        outcome = await executor.execute(spec("good"))
        assert isinstance(outcome, Outcome)
        assert outcome.node in (NODE_0, NODE_1)
    written = (folder / "orders").read_text(encoding="utf-8")
    assert '"memory": 536870912' in written
    assert '"cpus": 0.5' in written
    assert '"locks": {"f": "f==1"}' in written
    assert json.dumps([str(folder / "store")]) in written
    assert "/here/python" not in written
    assert "sk-canary" not in written
    assert "of-the-cluster" in written
    assert lines(folder / "servers") == ["http://10.0.0.7:1"]


async def test_a_lost_place_costs_its_trial_and_no_other(folder: Path) -> None:
    async with entered() as executor:
        lost = await executor.execute(spec("be lost"))
        assert isinstance(lost, LostTrial)
        assert lost.reason == "out of memory"
        assert places(executor).total() == 3
        assert await executor.execute(spec("full disk")) == LostTrial(NODE_0, "OSError: no space left")
        assert places(executor).total() == 2, "the place that can run nothing is not used again"
        assert isinstance(await executor.execute(spec("good")), Outcome)
        waiting = [asyncio.create_task(executor.execute(spec("wait"))) for _ in range(5)]
        (folder / "unplug").touch()
        await until(lambda: len(places(executor)) == 1)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.usefixtures("folder")
async def test_a_run_does_not_begin_on_nodes_that_differ() -> None:
    async with entered() as executor:
        with pytest.raises(DriverError, match=f"the nodes {NODE_1} and {NODE_0} differ: odd: version 1 and 0; install"):
            await executor.describe("odd")


@pytest.mark.usefixtures("folder")
async def test_a_run_ends_if_no_node_is_left_and_none_comes() -> None:
    async with entered(concurrency=1) as executor:
        assert isinstance(await executor.execute(spec("be lost")), LostTrial)
        executor.patience = 0.2
        with pytest.raises(
            NothingMeasured, match=r"there is no node, and none has joined within 0\.2 s: out of memory"
        ):
            await executor.describe("another")
        with pytest.raises(NothingMeasured, match=r"no node was left, and none has joined within 0\.2 s: "):
            await executor.execute(spec("good"))


@pytest.mark.parametrize(
    ("query", "absence"), [("end the cluster", "no answer of the head."), ("garbage", "had to be ended")]
)
@pytest.mark.usefixtures("folder")
async def test_the_end_of_the_bridge_costs_trials_a_repetition(query: str, absence: str) -> None:
    async with entered() as executor:
        waiting = asyncio.create_task(executor.execute(spec("wait")))
        await asyncio.sleep(0)
        assert isinstance(await executor.execute(spec(query)), LostTrial)
        assert isinstance(await waiting, LostTrial)
        assert absence in executor.absence
        await until(lambda: places(executor).total() == 4)
        assert isinstance(await executor.execute(spec("good")), Outcome)


async def test_a_cluster_that_is_not_there_is_named_with_the_reason(folder: Path) -> None:
    text = "import sys\nsys.exit('there is no cluster at 10.0.0.9:6379')\n"
    (folder / "trialbed_ray" / "bridge.py").write_text(text, encoding="utf-8")
    executor = RayExecutor()
    executor.options = {"patience": "0.5"}
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
