"""The executor ``ray`` and the program beside it, which is played: no cluster is needed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.played_bridge import BRIDGE

from trialbed.contracts import LostTrial
from trialbed.errors import DriverError, DriverNotFound, NothingMeasured, SettingsError, UsageError
from trialbed.installed import extra_command
from trialbed.records import Environment, Limits, ModelEndpoint, Outcome, TrialKey, TrialSpec
from trialbed_ray import _places
from trialbed_ray._messages import Greeting
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
    monkeypatch.setattr(_places, "AGAIN", 0.0)
    monkeypatch.setattr(_places, "PAUSES", (3600.0,))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, where places that are gone are made again without a pause."""
    monkeypatch.setattr(_places, "PAUSES", (0.0,))
    return folder


@asynccontextmanager
async def entered(**attributes: Any) -> AsyncIterator[RayExecutor]:
    executor = RayExecutor(environments={"f": Environment(python="/here/python", lock="f==1")})
    executor.concurrency = 4
    for name, value in attributes.items():
        setattr(executor, name, value)
    async with executor:
        await until(lambda: places(executor).total() == executor.concurrency)
        await executor.describe("f")
        yield executor


def places(executor: RayExecutor) -> Counter[str]:
    """Node -> the number of its places."""
    return Counter(place.node for place in executor._places.open.values())


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
        executor.connect("http://10.0.0.7:1")
        assert executor.server_host() == "127.0.0.1"
        assert places(executor) == {NODE_0: 2, NODE_1: 2}
        assert (await executor.describe("f")).name == "f"
        with pytest.raises(DriverNotFound, match=r"no such framework \(on the node 10\.0\.0\.8/node-0\)"):
            await executor.describe("unknown")
        with pytest.raises(NothingMeasured, match="no pyseccomp"):
            await executor.describe("boxed")
        outcome = await executor.execute(spec("good"))
        assert isinstance(outcome, Outcome)
        assert outcome.node in (NODE_0, NODE_1)
        await until(lambda: len(lines(folder / "servers")) == 4)
    written = (folder / "orders").read_text(encoding="utf-8")
    assert '"memory": 536870912' in written
    assert '"cpus": 0.5' in written
    assert '"locks": {"f": "f==1"}' in written
    assert json.dumps([str(folder / "store")]) in written
    assert "/here/python" not in written
    assert "sk-canary" not in written
    assert "of-the-cluster" in written
    assert lines(folder / "servers") == ["http://10.0.0.7:1"] * 4


async def test_a_lost_place_costs_its_trial_and_no_other(folder: Path) -> None:
    async with entered() as executor:
        lost = await executor.execute(spec("be lost"))
        assert isinstance(lost, LostTrial)
        assert lost.reason == "out of memory"
        assert places(executor).total() == 3
        assert isinstance(await executor.execute(spec("full disk")), LostTrial)
        assert isinstance(await executor.execute(spec("good")), Outcome)
        waiting = [asyncio.create_task(executor.execute(spec("wait"))) for _ in range(5)]
        (folder / "unplug").touch()
        await until(lambda: len(places(executor)) == 1)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.usefixtures("folder")
async def test_a_place_that_is_lost_while_it_describes_is_not_its_node() -> None:
    async with entered() as executor:
        assert (await executor.describe("fragile")).name == "fragile"
        assert places(executor) == {NODE_0: 2, NODE_1: 1}


@pytest.mark.usefixtures("folder")
async def test_a_run_does_not_begin_on_nodes_that_differ() -> None:
    async with entered() as executor:
        with pytest.raises(DriverError, match=f"the nodes {NODE_0} and {NODE_1} differ: odd: version 0 and 1; install"):
            await executor.describe("odd")


async def test_a_node_that_joins_and_differs_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_places, "PAUSES", (1.0,))
    async with entered() as executor:
        await executor.describe("renewed")
        (folder / "unplug").touch()
        await until(lambda: [*places(executor)] == [NODE_0])
        assert isinstance(await executor.execute(spec("good", "renewed")), Outcome)
        await until(lambda: NODE_1 in places(executor))
        for _ in range(3):
            found = await executor.execute(spec("good", "renewed"))
            assert isinstance(found, Outcome)
            assert found.node == NODE_0
        await until(lambda: f"the node {NODE_1} is not used: renewed: version 1 and 2" in caplog.text)
        assert isinstance(await executor.execute(spec("good")), Outcome)


@pytest.mark.usefixtures("folder")
async def test_a_run_begins_on_no_node_if_none_comes() -> None:
    async with entered(concurrency=1) as executor:
        assert isinstance(await executor.execute(spec("be lost")), LostTrial)
        executor.patience = 0.2
        with pytest.raises(NothingMeasured, match=r"there is no node, and none has come within 0\.2 s: out of memory"):
            await executor.describe("another")


@pytest.mark.usefixtures("at_once")
async def test_the_end_of_the_cluster_costs_trials_a_repetition() -> None:
    async with entered() as executor:
        waiting = asyncio.create_task(executor.execute(spec("wait")))
        await asyncio.sleep(0)
        lost = await executor.execute(spec("end the cluster"))
        assert isinstance(lost, LostTrial)
        assert isinstance(await waiting, LostTrial)
        await until(lambda: executor.absence == "no answer of the head.")
        await until(lambda: places(executor).total() == 4)
        assert isinstance(await executor.execute(spec("good")), Outcome)


@pytest.mark.usefixtures("folder")
async def test_a_place_that_can_run_nothing_is_not_used_again() -> None:
    async with entered() as executor:
        assert isinstance(await executor.execute(spec("full disk there")), LostTrial)
        assert places(executor) == {NODE_0: 2, NODE_1: 1}
        for _ in range(3):
            assert isinstance(await executor.execute(spec("full disk there")), Outcome)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("garbage of a place", "it has sent a message that cannot be read"),
        ("too long", "a message has 4294967295 bytes, more than 67108864"),
    ],
)
@pytest.mark.usefixtures("folder")
async def test_a_message_of_a_place_that_cannot_be_read_costs_the_place(query: str, reason: str) -> None:
    async with entered() as executor:
        lost = await executor.execute(spec(query))
        assert isinstance(lost, LostTrial)
        assert lost.reason == reason
        assert places(executor).total() == 3
        await until(lambda: executor.absence == reason)


async def test_a_trial_that_is_given_up_costs_its_place(at_once: Path) -> None:
    async with entered() as executor:
        executor.connect("http://10.0.0.7:1")
        given_up = asyncio.create_task(executor.execute(spec("wait")))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.wait([given_up])
        assert places(executor).total() == 3
        await until(lambda: places(executor).total() == 4)
        await until(lambda: len(lines(at_once / "servers")) == 5)
    assert len(lines(at_once / "made")) == 5
    assert lines(at_once / "servers") == ["http://10.0.0.7:1"] * 5, "the one that was made anew has it, too"


@pytest.mark.usefixtures("folder")
async def test_a_place_is_made_anew_with_longer_pauses_until_it_has_run_a_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_places, "PAUSES", (0.0, 3600.0))
    async with entered(concurrency=1) as executor:
        for query, kind in (("good", Outcome), ("be lost", LostTrial)) * 2:
            assert isinstance(await executor.execute(spec(query)), kind)
            await until(lambda: len(places(executor)) == 1)
        assert isinstance(await executor.execute(spec("be lost")), LostTrial)
        executor.patience = 0.2
        with pytest.raises(NothingMeasured, match=r"no node was left, and none has come within 0\.2 s: "):
            await executor.execute(spec("good"))


async def test_nobody_else_is_taken_for_a_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with entered() as executor:
        monkeypatch.setattr(_places, "GREETING", 0.05)  # no places are to come any more, which may take longer
        [(host, port)] = {tuple(json.loads(line)) for line in (folder / "ports").read_text().splitlines()}
        for said in (
            b"",
            b"\x00\x00",
            b"\x7f\x00\x00\x00" + bytes(10),
            _framed(b"{}"),
            _framed(Greeting(token="guessed", address="10.0.0.9", node="n").model_dump_json().encode()),
        ):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(said)
            assert await reader.read() == b""
            writer.close()
        assert places(executor).total() == 4


async def test_who_has_not_said_which_place_it_is_is_hung_up_on_at_the_end(folder: Path) -> None:
    async with entered():
        [(host, port)] = {tuple(json.loads(line)) for line in (folder / "ports").read_text().splitlines()}
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"\x00")
        await asyncio.sleep(0)
    with suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()


@pytest.mark.usefixtures("folder")
async def test_who_is_taken_while_all_places_end_is_hung_up_on() -> None:
    async with entered() as executor:
        greet = executor._places._greet
    async with await asyncio.start_server(greet, "127.0.0.1", 0) as late:
        reader, writer = await asyncio.open_connection(*late.sockets[0].getsockname())
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()


def _framed(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


@pytest.mark.usefixtures("folder")
async def test_an_address_that_is_not_this_machines_is_refused() -> None:
    with pytest.raises(NothingMeasured, match=r"cannot connect with 192\.0\.2\.77: .*--executor-option host=ADDRESS"):
        async with entered(options={"host": "192.0.2.77"}):
            """Never entered."""


@pytest.mark.usefixtures("folder")
async def test_certificates_that_cannot_be_used_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USE_TLS", "1")
    monkeypatch.setenv("RAY_TLS_SERVER_CERT", "/missing/certificate.pem")
    monkeypatch.delenv("RAY_TLS_SERVER_KEY", raising=False)
    with pytest.raises(SettingsError, match=r"\(RAY_TLS_SERVER_CERT=/missing/certificate\.pem, RAY_TLS_SERVER_KEY=, "):
        async with entered():
            """Never entered."""


@pytest.mark.usefixtures("at_once")
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
    at_once: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_places, "RENEWALS", (0.05, 3600.0))
    async with entered(concurrency=1) as executor:
        assert isinstance(await executor.execute(spec("lose the head")), LostTrial)
        await until(lambda: len(places(executor)) == 1)
        assert isinstance(await executor.execute(spec("good")), Outcome)
    assert len((at_once / "orders").read_text(encoding="utf-8").splitlines()) == 2


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


def test_it_says_how_to_install_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape(extra_command("ray"))):
        RayExecutor.check_options({})
    assert os.environ.get("RAY_ADDRESS", "") == ""
