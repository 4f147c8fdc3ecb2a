"""The nodes of a run: described and accepted as they join, left out where they differ, waited for where none is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trialbed.contracts import Executor, Node
from trialbed.engine._progress import LONG, say_when_long
from trialbed.engine._slots import Slots
from trialbed.errors import DriverError, NothingMeasured
from trialbed.records import FrameworkInfo
from trialbed.texts import number_of

INTERVAL = 0.5
"""Seconds between two looks at the nodes."""

SAME = ("version", "adapter", "adapter_version", "python", "lock_digest", "sandbox", "packages")
"""The fields of a framework's description that must be equal on all nodes."""

MEASURED = ("version", "adapter", "adapter_version", "python", "lock_digest", "packages")
"""Those that must be what earlier sessions of the run measured, wherever that was; the sandbox may change.

A package that only one of both has is no difference.
"""

MOST_FAILED = 6
"""Joins that may fail, while no trial can run, until no further one is waited for."""

NODES, EARLIER = ("here", "there"), ("before", "now")
"""The names of both sides, where something differs between nodes, or from earlier sessions."""

MOST_PACKAGES = 3
"""Packages that are named of those that differ."""

Descriptions = Mapping[str, FrameworkInfo]
"""Label of a framework -> its description."""

Who = tuple[str, str]
"""Name and identity of a node."""


@dataclass
class NodeWatch:
    """Follows the nodes of an executor; one without nodes has any number of places.

    Args:
        frameworks: labels of those that run there.
        say: is given a line where a node is not used.
        earlier: what earlier sessions of the run measured with the same code of the adapters, here or on nodes.
        moved: whether that was on nodes, so that an executor without nodes, too, is compared with it.
        pause: sleeps. clock: seconds.

    Attributes:
        gone: why the run waits for nodes no longer; empty while there are some, or may be.
        are_there: whether trials run on nodes; known once the frameworks are described.
    """

    executor: Executor
    frameworks: Sequence[str]
    say: Callable[[str], None]
    earlier: Descriptions = field(default_factory=dict)
    moved: bool = False
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = field(default_factory=lambda: asyncio.get_running_loop().time)
    gone: str = field(default="", init=False)
    are_there: bool = field(default=True, init=False)
    _infos: Descriptions = field(default_factory=dict, init=False)
    _accepted: set[Who] = field(default_factory=set, init=False)
    _refused: set[Who] = field(default_factory=set, init=False)
    _joining: dict[Who, asyncio.Task[None]] = field(default_factory=dict, init=False)
    # Joins that have failed since a trial could last run, and why the last one did.
    _failed: int = field(default=0, init=False)
    _failure: str = field(default="", init=False)
    _none_since: float | None = field(default=None, init=False)
    _slots: Slots | None = field(default=None, init=False)
    _most: int = field(default=0, init=False)
    _complaint: str = field(default="", init=False)

    async def describe(self) -> Descriptions:
        """Describe the frameworks, on every node that is there, and accept these.

        Raises:
            NothingMeasured: there is no node, or none that stays until it has done that.
            DriverError: a framework cannot be loaded, or is not the same everywhere.
            SandboxUnavailable: workers cannot be put into the sandbox.
        """
        if self.executor.nodes() is None:
            self.are_there = False
            self._infos = await self._describe("")
            if self.moved:
                self._compare_with_earlier("this machine", self._infos)
            return self._infos
        for _ in range(MOST_FAILED):
            failure = await self._describe_first(await self._first())
            if self._infos:
                return self._infos
        raise NothingMeasured(f"all nodes were lost while they described frameworks, {MOST_FAILED} times: {failure}")

    async def _describe_first(self, first: Sequence[Node]) -> str:
        """Describe the frameworks on the nodes that are there; returns why the last one that was lost meanwhile was."""
        failure = ""
        text = f"starting a worker of each framework on {number_of(len(first), 'node')}"
        work = asyncio.gather(*(self._describe(node.name) for node in first), return_exceptions=True)
        found = await say_when_long(self.say, text, work)
        there = {_who(node) for node in self.executor.nodes() or ()}
        for node, infos in zip(first, found, strict=True):
            if isinstance(infos, BaseException):
                if _who(node) in there or not isinstance(infos, Exception):
                    raise infos
                failure = f"{node.name}: {_text(infos)}"
                continue  # it was lost meanwhile, which may be the reason
            self._compare_with_earlier(f"the node {node.name}", infos)
            self._infos = self._infos or infos
            if difference := _difference(self._infos, infos, SAME, NODES):
                both = f"{first[0].name} and {node.name}"
                raise DriverError(f"the nodes {both} differ: {difference}; install the same on both")
            self._accept(node)
        return failure

    async def watch(self, slots: Slots) -> None:
        """Keep as many slots as the nodes have places, until cancelled."""
        if not self.are_there:
            return
        self._slots, self._most = slots, slots.most
        try:
            while not self.gone:
                self.look()
                await self.pause(INTERVAL)
        finally:
            for task in self._joining.values():
                task.cancel()
            await asyncio.gather(*self._joining.values(), return_exceptions=True)

    def look(self) -> None:
        """See which nodes there are; where that cannot be said, all is left as it is until the next look."""
        if self._slots is None or self.gone:
            return
        nodes = self._nodes()
        if nodes is None:
            self._wait(self._slots.most)
        else:
            self._use(nodes, self._slots)

    def _nodes(self) -> Sequence[Node] | None:
        """The nodes that are there; None where the executor cannot say."""
        try:
            return self.executor.nodes()
        except Exception as error:  # noqa: BLE001 - foreign code: a look that fails must not be the last
            text = f"the executor cannot say which nodes there are: {_text(error)}"
            if text != self._complaint:
                self._complaint = text
                self.say(text)
            return None

    def _use(self, nodes: Sequence[Node], slots: Slots) -> None:
        there = {_who(node) for node in nodes}
        self._accepted &= there
        self._refused &= there
        capacity = sum(node.capacity for node in nodes if _who(node) in self._accepted)
        for node in nodes:
            if _who(node) not in self._accepted | self._refused | self._joining.keys():
                self._joining[_who(node)] = asyncio.create_task(self._join(node))
        slots.most = min(self._most, capacity)
        self._wait(capacity)

    def _wait(self, capacity: int) -> None:
        if capacity:
            self._none_since, self._failed = None, 0
        elif self._joining and self._failed < MOST_FAILED:
            self._none_since = None  # if it fails, however long that took, the next one has as much time to come
        elif self._none_since is None:
            self._none_since = self.clock()
            self.say(f"no node is left; one is waited for, at most {self.executor.patience:g} s")
        elif self.clock() - self._none_since >= self.executor.patience:
            able = "that can be used has come" if self._failed else "has come"
            self.gone = f"no node was left, and none {able} within {self.executor.patience:g} s{self._why()}"
            if self._slots is not None:
                self._slots.close(self.gone)

    def _why(self) -> str:
        if self._failed:
            return f"; joins that failed: {self._failed}, the last one of {self._failure}"
        reason = self.executor.absence
        return f": {reason}" if reason else ""

    async def _first(self) -> Sequence[Node]:
        began, said = self.clock(), False
        end = began + self.executor.patience
        while not (nodes := self.executor.nodes()):
            if not said and self.clock() >= began + LONG:
                self.say(f"there is no node yet; one is waited for, at most {self.executor.patience:g} s")
                said = True
            if self.clock() >= end:
                seconds = f"{self.executor.patience:g} s"
                raise NothingMeasured(f"there is no node, and none has come within {seconds}{self._why()}")
            await self.pause(INTERVAL)
        return nodes

    async def _describe(self, node: str) -> Descriptions:
        found = await asyncio.gather(*(self.executor.describe(label, node) for label in self.frameworks))
        return dict(zip(self.frameworks, found, strict=True))

    async def _join(self, node: Node) -> None:
        try:
            problem = _difference(self._infos, await self._describe(node.name), SAME, NODES)
        except Exception as error:  # noqa: BLE001 - foreign code: its fault is one of the node
            problem = _text(error)
        finally:
            del self._joining[_who(node)]
        if _who(node) not in {_who(one) for one in self._nodes() or ()}:
            self._fail(node, problem or "it has left again")
            return
        if not problem:
            try:
                self._accept(node)
            except Exception as error:  # noqa: BLE001 - as above
                problem = _text(error)
        if problem:
            self._fail(node, problem)
            self._refused.add(_who(node))
            self.say(f"the node {node.name} is not used: {problem}")
        else:
            self.say(f"the node {node.name} has joined")
            self.look()

    def _fail(self, node: Node, problem: str) -> None:
        self._failed += 1
        self._failure = f"{node.name}: {problem}"

    def _accept(self, node: Node) -> None:
        self.executor.accept(node.name)
        self._accepted.add(_who(node))

    def _compare_with_earlier(self, where: str, infos: Descriptions) -> None:
        if difference := _difference(self.earlier, infos, MEASURED, EARLIER):
            advice = "make it the same, or start a new run with --fresh"
            raise DriverError(f"{where} is not what the run began with: {difference}; {advice}")


def _difference(before: Descriptions, now: Descriptions, names: Sequence[str], where: tuple[str, str]) -> str:
    """The first difference between the frameworks that both have, in words; empty for none."""
    for label, info in now.items():
        for name in names:
            ours, theirs = getattr(before.get(label, info), name), getattr(info, name)
            if where is EARLIER and name == "packages":
                ours, theirs = _common(ours, theirs)
            if ours != theirs:
                return f"{label}: {_in_words(name, ours, theirs, where)}"
    return ""


def _common(*both: Sequence[str]) -> list[tuple[str, ...]]:
    """The packages that both have, each with its version."""
    names = set.intersection(*({package.partition("==")[0] for package in packages} for packages in both))
    return [tuple(package for package in packages if package.partition("==")[0] in names) for packages in both]


def _who(node: Node) -> Who:
    return node.name, node.identity


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__


def _in_words(name: str, ours: object, theirs: object, where: tuple[str, str]) -> str:
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        left, right = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
        return f"{name} {_some(left)} {where[0]}, {_some(right)} {where[1]}"
    return f"{name.replace('_', ' ')} {ours} {where[0]}, {theirs} {where[1]}"


def _some(items: Sequence[object]) -> str:
    more = len(items) - MOST_PACKAGES
    return ", ".join(map(str, items[:MOST_PACKAGES])) + (f" and {more} more" if more > 0 else "") or "none"
