"""Nodes that join, differ, are lost, and do not come back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.clocks import SteppingClock, going_on
from support.node_stand_ins import Cluster, Fleeting, Here, Slow

from trialbed.contracts import Executor
from trialbed.engine._nodes import NodeWatch
from trialbed.engine._slots import Slots
from trialbed.errors import DriverError, NothingMeasured
from trialbed.records import FrameworkInfo


def watch_of(
    time: SteppingClock, cluster: Executor, earlier: FrameworkInfo | None = None, *, moved: bool = False
) -> NodeWatch:
    before = {} if earlier is None else {"f": earlier}
    return NodeWatch(
        cluster, ("f",), time.said.append, earlier=before, moved=moved, pause=time.pause, clock=lambda: time.now
    )


@asynccontextmanager
async def watched(time: SteppingClock, cluster: Executor, slots: Slots, capacity: int) -> AsyncIterator[NodeWatch]:
    """Watch nodes that are there while the body runs, from when there are as many slots as these have places."""
    watch = watch_of(time, cluster)
    await watch.describe()
    async with going_on(watch.watch(slots)):
        await until(slots, capacity)
        yield watch


async def until(slots: Slots, most: int) -> None:
    async with asyncio.timeout(60):
        while slots.most != most:  # noqa: ASYNC110 - the clock of the test moves as others sleep
            await asyncio.sleep(0)


async def test_nodes_that_join_are_used_and_those_that_are_lost_are_not() -> None:
    cluster, time, slots = Cluster(a=2), SteppingClock(), Slots(8)
    watch = watch_of(time, cluster)
    assert (await watch.describe())["f"].name == "f"
    assert cluster.accepted == ["a"]
    async with going_on(watch.watch(slots)):
        await until(slots, 2)
        cluster.capacities["b"] = 3
        await until(slots, 5)
        cluster.capacities["a"] = 60
        await until(slots, 8)
        del cluster.capacities["a"]
        await until(slots, 3)
        cluster.capacities["a"] = 1  # another machine may have the name, so that it is described again
        await until(slots, 4)
    assert cluster.accepted == ["a", "b", "a"]
    assert time.said == ["the node b has joined", "the node a has joined"]


async def test_a_node_that_differs_is_not_used() -> None:
    cluster, time, slots = Cluster(a=2), SteppingClock(), Slots(8)
    async with watched(time, cluster, slots, 2):
        cluster.packages["b"] = ("openai==2", "pydantic==2")
        cluster.broken = {"c"}
        cluster.capacities |= {"b": 4, "c": 4, "d": 1}
        await until(slots, 3)
    assert cluster.accepted == ["a", "d"]
    assert time.said == [
        "the node b is not used: f: packages openai==1 here, openai==2 there",
        "the node c is not used: the adapter is missing",
        "the node d has joined",
    ]


async def test_a_run_does_not_begin_on_nodes_that_differ() -> None:
    cluster, time = Cluster(a=2, b=1), SteppingClock()
    cluster.packages["b"] = ("openai==2", "pydantic==2")
    with pytest.raises(DriverError, match="the nodes a and b differ: f: packages openai==1 here, openai==2 there"):
        await watch_of(time, cluster).describe()
    with pytest.raises(NothingMeasured, match="there is no node, and none has come within 10 s"):
        await watch_of(time, Cluster()).describe()
    assert time.said == ["there is no node yet; one is waited for, at most 10 s"]


async def test_a_run_goes_on_with_what_it_began_with() -> None:
    cluster, time = Cluster(a=1), SteppingClock()
    began = await cluster.describe("f")
    here = began.model_copy(update={"packages": ("openai==1", "pytest==9"), "sandbox": ("seccomp",)})
    assert "f" in await watch_of(time, cluster, here).describe(), "a sandbox, or a package more, changes no measurement"
    text = "the node a is not what the run began with: f: "
    with pytest.raises(DriverError, match=f"{text}version 0 before, 1 now"):
        await watch_of(time, cluster, began.model_copy(update={"version": "0"})).describe()
    with pytest.raises(DriverError, match=f"{text}packages openai==0 before, openai==1 now"):
        await watch_of(time, cluster, began.model_copy(update={"packages": ("openai==0",)})).describe()


async def test_a_run_that_leaves_its_nodes_goes_on_with_what_they_measured() -> None:
    here, time = Here(), SteppingClock()
    there = (await here.describe("f")).model_copy(update={"packages": ("openai==0", "pytest==9")})
    assert await watch_of(time, here, there).describe(), "it has never been elsewhere: the adapter's digest says enough"
    with pytest.raises(DriverError, match="this machine is not what the run began with: f: packages openai==0 before"):
        await watch_of(time, here, there, moved=True).describe()
    assert await watch_of(time, here, await here.describe("f"), moved=True).describe()


async def test_a_loss_is_seen_at_once() -> None:
    cluster, time, slots = Cluster(a=2, b=1), SteppingClock(), Slots(8)
    async with watched(time, cluster, slots, 3) as watch:
        del cluster.capacities["a"]
        watch.look()
        assert slots.most == 1


async def test_nodes_are_waited_for_as_long_as_the_executor_says() -> None:
    cluster, time, slots = Cluster(a=1), SteppingClock(), Slots(8)
    async with watched(time, cluster, slots, 1) as watch:
        waiting = asyncio.create_task(enter(slots, 2))
        cluster.capacities.clear()
        await until(slots, 0)
        with pytest.raises(Exception, match="no node was left, and none has come within 10 s"):
            await waiting
    assert watch.gone == "no node was left, and none has come within 10 s"
    assert time.said == ["no node is left; one is waited for, at most 10 s"]


async def test_a_node_that_is_lost_whenever_it_joins_is_none_that_has_come() -> None:
    cluster, time, slots = Fleeting(), SteppingClock(), Slots(8)
    async with watched(time, cluster, slots, 1) as watch:
        cluster.capacities.clear()
        async with asyncio.timeout(60):
            while not watch.gone:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0)
    assert cluster.starts > 1
    assert time.said == ["no node is left; one is waited for, at most 10 s"]


async def test_the_time_in_which_a_node_joins_is_no_waiting() -> None:
    time, slots = SteppingClock(), Slots(8)
    cluster = Slow(time, 50, a=1)
    async with watched(time, cluster, slots, 1) as watch:
        cluster.broken = {"b"}
        cluster.capacities.clear()
        await time.moved(3)
        cluster.capacities["b"] = 1
        async with asyncio.timeout(60):
            while len(time.said) < 2:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0)
        await time.moved(8)
        assert watch.gone == "", "b was there, and the next one has as much time"
        cluster.capacities["a"] = 1
        await until(slots, 1)
    assert time.said == [
        "no node is left; one is waited for, at most 10 s",
        "the node b is not used: the adapter is missing",
        "no node is left; one is waited for, at most 10 s",
        "the node a has joined",
    ]


async def test_a_node_that_was_lost_once_has_the_time_that_it_needs_to_join() -> None:
    time, slots = SteppingClock(), Slots(8)
    cluster = Slow(time, 50, a=1)
    async with watched(time, cluster, slots, 1) as watch:
        cluster.lost = 1
        cluster.capacities.clear()
        cluster.capacities["b"] = 3
        await until(slots, 3)
    assert (watch.gone, cluster.begun) == ("", 2)


async def test_a_node_that_is_refused_whenever_it_comes_keeps_no_run_waiting() -> None:
    cluster, time, slots = Cluster(a=1), SteppingClock(), Slots(8)
    async with watched(time, cluster, slots, 1) as watch:
        cluster.broken = {"b"}
        cluster.capacities.clear()
        cluster.capacities["b"] = 1
        async with asyncio.timeout(60):
            while not watch.gone:
                cluster.identities["b"] = f"started at {time.now}"
                await asyncio.sleep(0)
    assert time.now < 30


async def test_nodes_of_new_names_that_fail_whenever_they_come_keep_no_run_waiting() -> None:
    cluster, time, slots = Cluster(a=1), SteppingClock(), Slots(8)
    async with watched(time, cluster, slots, 1) as watch:
        async with asyncio.timeout(60):
            while not watch.gone:
                name = f"b{time.now:g}"
                cluster.broken.add(name)
                cluster.capacities = {name: 1}
                await asyncio.sleep(0)
    assert 10 < time.now < 30
    text = (
        r"no node was left, and none that can be used has come within 10 s; joins that failed: \d+, the last one of b"
    )
    assert re.match(rf"{text}\d+: the adapter is missing", watch.gone)


async def test_nodes_that_are_lost_while_they_are_described_first_keep_no_run_waiting() -> None:
    cluster, time = Fleeting(), SteppingClock()
    cluster.capacities.clear()
    with pytest.raises(
        NothingMeasured, match="all nodes were lost while they described frameworks, 6 times: b: it was"
    ):
        await watch_of(time, cluster).describe()
    assert cluster.starts == 6


async def test_a_look_that_fails_is_not_the_last() -> None:
    cluster, time, slots = Cluster(a=1), SteppingClock(), Slots(8)
    async with watched(time, cluster, slots, 1):
        cluster.mute = 3
        del cluster.capacities["a"]
        cluster.refusing = {"b"}
        cluster.capacities |= {"b": 4, "c": 2}
        await until(slots, 2)
    assert time.said == [
        "the executor cannot say which nodes there are: no answer of the head",
        "the node b is not used: it does not answer",
        "the node c has joined",
    ]


async def test_a_node_that_is_back_before_the_next_look_is_accepted_anew() -> None:
    cluster, time, slots = Cluster(a=1), SteppingClock(), Slots(8)
    cluster.identities["a"] = "started at 9"
    async with watched(time, cluster, slots, 1):
        cluster.identities["a"] = "started at 10"
        await until(slots, 0)
        await until(slots, 1)
    assert cluster.accepted == ["a", "a"]


async def enter(slots: Slots, times: int) -> None:
    for _ in range(times):
        await slots.__aenter__()
