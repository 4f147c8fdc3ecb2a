"""The executor ``ray``."""

from __future__ import annotations

import asyncio
import importlib.util
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar, Self

from trialbed import errors
from trialbed.contracts import Executor, LostTrial, Node
from trialbed.errors import DriverBroken, NothingMeasured, SettingsError, TrialbedError, UsageError
from trialbed.records import FrameworkInfo, Outcome, TrialSpec
from trialbed_plugins.executors.local import memory_limit
from trialbed_ray._link import Link
from trialbed_ray._messages import Answered, Connect, Connected, Lose, PlaceGone, PlaceOpen, PlaceSetup, Shun, ToEngine

MEMORY = 1 << 30
"""Bytes that Ray reserves for a trial."""

PATIENCE = 120.0
"""Seconds that a cluster, or a node of it, is waited for."""

DESCRIPTIONS = 3
"""Places of a node that are asked to describe a framework, one after the other, where they are lost meanwhile."""

RENEWALS = (20.0, 60.0, 180.0)
"""Seconds without any place, after there were some, before the cluster is connected with anew; the last one repeats.

A driver whose head was replaced takes the new one for its own, which knows nothing of it.
"""


@dataclass
class OpenPlace:
    """A place that there is now.

    Attributes:
        loaded: the frameworks that it has run, of which it may have an idle worker.
    """

    number: int
    node: str
    busy: bool = False
    loaded: set[str] = field(default_factory=set)


class RayExecutor(Executor):
    """Runs trials in workers on the nodes of a Ray cluster, as many at a time as it has room for.

    Each place for a trial is an actor, which Ray puts where processors and memory are free. An actor that is lost, with
    its node or alone, costs its trial a repetition, and Ray is asked for another one. Nodes that join are used. The
    nodes need Trialbed with the extra ``ray``, in the same release; environments are built there from their locks.
    """

    reuses_workers = True
    remote = True
    # In a container, workers find a server on this machine's loopback only.
    sandboxes = ("none", "process")
    option_names: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "address": "of the cluster, HOST:PORT, as --ray-address; otherwise that of RAY_ADDRESS, or of the one here",
            "cpus": "processors that Ray reserves for each trial at once; 1 by default",
            "memory": "memory that Ray reserves for each trial at once, and the most that its worker may hold, such as "
            "2G; by default Ray reserves 1G, and the limit is that of the local executor",
            "host": "the address of this machine at which nodes find the server; that which Ray knows by default",
            "patience": f"seconds that a node is waited for where there is none; {PATIENCE:g} by default",
        }
    )

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> None:
        """See that Ray is installed, and the amounts can be read."""
        super().check_options(options)
        if importlib.util.find_spec("ray") is None:
            raise UsageError("--executor ray needs Ray: pip install 'trialbed[ray]', here and on every node")
        for name in ("cpus", "patience"):
            _number(name, options.get(name, "1"))
        try:
            memory_limit("--executor-option memory", options.get("memory", "1G"))
        except SettingsError as error:
            raise UsageError(str(error)) from error

    async def __aenter__(self) -> Self:
        self.patience = _number("patience", self.options.get("patience", str(PATIENCE)))
        self.absence = ""
        self._places: dict[int, OpenPlace] = {}
        self._accepted: set[str] = set()
        self._server_url = ""
        self._host = ""
        self._changed = asyncio.Condition()
        self._connected = asyncio.Event()
        self._tasks: set[asyncio.Task[object]] = set()
        self._renewed = 0
        self._renewal: asyncio.TimerHandle | None = None
        self._link = Link(self._order(), self._take, self._disconnect)
        try:
            async with asyncio.timeout(self.patience):
                await self._connected.wait()
        except BaseException as error:
            await self._link.close()
            if isinstance(error, TimeoutError):
                advice = "start one with `ray start --head`, or name it with --ray-address HOST:PORT"
                raise NothingMeasured(f"--executor ray: {self.absence or 'no cluster answers'}; {advice}") from error
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the actors and their workers."""
        self._expect_places(there=True)
        await self._link.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def server_host(self) -> str:
        """Return this machine's address in the cluster."""
        return self.options.get("host", self._host)

    def connect(self, server_url: str) -> None:
        """Send the address of the server to all places, and to those that come later."""
        self._server_url = server_url
        for place in self._places.values():
            self._start(self._link.ask(place.number, "connect", server_url))

    def nodes(self) -> tuple[Node, ...]:
        """The nodes that have a place."""
        counts = Counter(place.node for place in self._places.values())
        return tuple(Node(name, count) for name, count in sorted(counts.items()))

    def accept(self, node: str) -> None:
        """Run trials there."""
        self._accepted.add(node)
        self._start(self._wake())

    def refuse(self, node: str) -> None:
        """Run no more trials there: each of its actors ends with its trial, and Ray is asked for others elsewhere."""
        self._accepted.discard(node)
        for place in [*self._places.values()]:
            if place.node == node and not place.busy:
                self._shun(place)

    def _shun(self, place: OpenPlace) -> None:
        self._remove(place.number)
        self._link.send(Shun(place=place.number))

    async def lose(self, node: str) -> None:
        """End the actors of a node."""
        self._link.send(Lose(node=node))

    async def describe(self, framework: str, node: str = "") -> FrameworkInfo:
        """Describe the framework as a worker on this node finds it; its environment is built there first."""
        reason = "is not there any more"
        for _ in range(DESCRIPTIONS):
            own = [place for place in self._places.values() if place.node == node]
            if not own:
                break
            place = min(own, key=lambda one: len(one.loaded))
            place.loaded.add(framework)
            answer = await self._link.ask(place.number, "describe", framework)
            if answer.error:
                raise _error(answer, node)
            if not answer.lost:
                return FrameworkInfo.model_validate_json(answer.result)
            # One place is not the node: it is left out where it differs, and another place may say whether it does.
            self._drop(place)
            reason = f"was lost while it described {framework}: {answer.lost}"
        raise DriverBroken(f"the node {node} {reason}")

    async def execute(self, spec: TrialSpec) -> Outcome | LostTrial:
        """Run a trial at a place, if possible one where a worker of its framework waits."""
        place = await self._free(spec.key.framework)
        if place is None:
            return LostTrial("the cluster", self.absence or "there is no node")
        try:
            answer = await self._link.ask(place.number, "execute", spec.model_dump_json())
            if answer.lost or answer.error:
                # Free at once, the place would take trial after trial: the bridge ends it too, and makes another one.
                self._drop(place)
        finally:
            place.busy = False
            if place.number in self._places and place.node not in self._accepted:
                self._shun(place)
            await asyncio.shield(self._wake())
        if answer.lost:
            return LostTrial(place.node, answer.lost)
        if answer.error:
            # The local executor raises nothing for a trial: this is the node's, such as a full disk.
            return LostTrial(place.node, f"{answer.error}: {answer.message[:300]}")
        return Outcome.model_validate_json(answer.result).model_copy(update={"node": place.node})

    async def _free(self, framework: str) -> OpenPlace | None:
        """Take a place, once there is a free one; None where there has been none at all for long."""
        async with self._changed:
            while not (free := [place for place in self._usable() if not place.busy]):
                if self._usable():
                    await self._changed.wait()
                    continue
                try:
                    async with asyncio.timeout(self.patience):
                        await self._changed.wait_for(self._usable)
                except TimeoutError:
                    return None
            place = min(free, key=lambda one: (framework not in one.loaded, len(one.loaded)))
            place.busy = True
            place.loaded.add(framework)
            return place

    def _usable(self) -> list[OpenPlace]:
        return [place for place in self._places.values() if place.node in self._accepted]

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _order(self) -> Connect:
        memory = self.options.get("memory")
        sandbox = self.sandbox
        setup = PlaceSetup(
            locks={label: environment.lock for label, environment in self.environments.items()},
            sandbox=sandbox.mode if sandbox else "",
            hidden=tuple(map(str, sandbox.hidden)) if sandbox else (),
            options={} if memory is None else {"memory": memory},
        )
        return Connect(
            address=self.options.get("address", ""),
            places=max(1, self.concurrency),
            cpus=_number("cpus", self.options.get("cpus", "1")),
            memory=MEMORY if memory is None else memory_limit("--executor-option memory", memory),
            setup=setup,
        )

    def _take(self, message: ToEngine) -> None:
        match message:
            case Connected(host=host):
                self._host = self._host or host
                self._connected.set()
            case PlaceOpen(place=number, node=node):
                self._places[number] = OpenPlace(number, node)
                self._renewed = 0
                self._expect_places(there=True)
                if self._server_url:
                    self._start(self._link.ask(number, "connect", self._server_url))
                self._start(self._wake())
            case PlaceGone(place=number, reason=reason):
                self._remove(number)
                self.absence = reason
                self._start(self._wake())
            case _:
                raise ValueError(f"the bridge sent {message.type}")

    def _drop(self, place: OpenPlace) -> None:
        if self._places.get(place.number) is place:
            self._remove(place.number)

    def _remove(self, number: int) -> None:
        if self._places.pop(number, None) and not self._places:
            self._expect_places(there=False)

    def _expect_places(self, *, there: bool) -> None:
        """Connect anew if the last place is gone and none comes; not where there has been none yet."""
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        if not there:
            seconds = RENEWALS[min(self._renewed, len(RENEWALS) - 1)]
            self._renewal = asyncio.get_running_loop().call_later(seconds, self._renew)

    def _renew(self) -> None:
        self._renewed += 1
        self._link.restart()
        self._expect_places(there=False)

    def _disconnect(self, reason: str) -> None:
        for number in [*self._places]:
            self._remove(number)
        self.absence = reason
        self._start(self._wake())

    def _start(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise UsageError(f"--executor-option {name}: {text!r} is not a number above 0")
    return found


def _error(answer: Answered, node: str) -> TrialbedError:
    text = f"{answer.message} (on the node {node})"
    if answer.error == "SandboxUnavailable":  # it takes more than a text
        return NothingMeasured(text)
    kind: object = getattr(errors, answer.error, None)
    if isinstance(kind, type) and issubclass(kind, TrialbedError):
        return kind(text)
    return DriverBroken(f"{answer.error}: {text}")
