"""The executor ``ray``."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import json
import logging
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar, Self

from trialbed import errors
from trialbed.child_processes import end_process, stop_process
from trialbed.contracts import Executor, LostTrial, difference
from trialbed.errors import DriverBroken, DriverError, NothingMeasured, SettingsError, TrialbedError, UsageError
from trialbed.installed import extra_command
from trialbed.records import FrameworkInfo, Outcome, TrialSpec
from trialbed.worker import WORKER_MARK, worker_environment
from trialbed_plugins.executors.local import read_memory

LOG = logging.getLogger("trialbed")

MEMORY = 1 << 30
"""Bytes that Ray reserves for a trial."""

PATIENCE = 120.0
"""Seconds that a cluster, or a node of it, is waited for."""

DESCRIPTIONS = 3
"""Times that a framework is described, if places are lost meanwhile."""

AGAIN = 2.0
"""Seconds before the bridge is started again."""

ENDING = 30.0
"""Seconds for the bridge to end once its input is closed."""

LONGEST = 128 * 2**20
"""Bytes of a message of the bridge, as there."""

TAIL = 4096
"""Bytes of its standard error that are kept."""

SHOWN = 300
"""Characters of an error."""

LOGGED = re.compile(r"^\[[^]]+\] \S+:\d+: ")
"""The time, processes and place in the sources, before a message in Ray's log."""

NOTHING_KNOWN = "the connection to the cluster was lost"


class PlaceLost(Exception):
    """A place is gone, and its answer is not known; says why it is gone."""


@dataclass
class OpenPlace:
    """A place that is currently available.

    Attributes:
        node: the name of its node.
        busy: whether it runs a trial.
        loaded: the frameworks that match the other nodes' and may have an idle worker here.
    """

    number: int
    node: str
    busy: bool = False
    loaded: set[str] = field(default_factory=set)


class RayExecutor(Executor):
    """Runs trials in workers on the nodes of a Ray cluster, up to its capacity.

    Each place for a trial is an actor on a node with free processors and memory. If an actor is lost, with
    its node or alone, its trial is repeated, and Ray is asked for another actor. Nodes that join are used. The
    nodes need Trialbed with the extra ``ray``, in the same release; environments are built there from their locks.
    """

    reuses_workers = True
    remote = True
    runs_sandboxed = True
    option_names: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "address": "of the cluster, HOST:PORT, as --ray-address; otherwise that of RAY_ADDRESS, or of the one here",
            "cpus": "processors that Ray reserves for each trial at once; 1 by default",
            "memory": "memory that Ray reserves for each trial at once, and the most that its worker may hold, such as "
            "2G; by default Ray reserves 1G, and the limit is that of the local executor",
            "host": "the address of this machine at which nodes find it; that which Ray knows by default",
            "patience": f"seconds to wait for a node if there is none; {PATIENCE:g} by default",
        }
    )

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> None:
        """Check that Ray is installed, and that the amounts are valid."""
        super().check_options(options)
        if importlib.util.find_spec("ray") is None:
            raise UsageError(f"--executor ray needs Ray, here and on every node; here: {extra_command('ray')}")
        for name in ("cpus", "patience"):
            _number(name, options.get(name, "1"))
        try:
            read_memory("--executor-option memory", options.get("memory", "1G"))
        except SettingsError as error:
            raise UsageError(str(error)) from error

    async def __aenter__(self) -> Self:
        self.patience = _number("patience", self.options.get("patience", str(PATIENCE)))
        self.absence = ""
        self.places: dict[int, OpenPlace] = {}
        self._infos: dict[str, FrameworkInfo] = {}
        # (node, framework) if the framework differs from the first one's or cannot be used.
        self._unfit: set[tuple[str, str]] = set()
        self._waits = False
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[tuple[str, str]]] = {}
        self._change = asyncio.Event()
        self._host = ""
        self._server_url = ""
        self._connected = asyncio.Event()
        self._process: Process | None = None
        self._bridge = asyncio.create_task(self._keep_bridge())
        try:
            async with asyncio.timeout(self.patience):
                while not self._host:
                    await self._change.wait()
        except BaseException as error:
            await self.__aexit__(None, None, None)
            if isinstance(error, TimeoutError):
                advice = "start one with `ray start --head`, or name it with --ray-address HOST:PORT"
                raise NothingMeasured(f"--executor ray: {self.absence or 'no cluster answers'}; {advice}") from error
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the bridge, and with it the actors and their workers."""
        self._bridge.cancel()
        await asyncio.wait([self._bridge])
        if self._process is not None:
            await stop_process(self._process, ENDING)

    def server_host(self) -> str:
        """Return this machine's address in the cluster."""
        return self.options.get("host") or self._host

    def connect(self, server_url: str) -> None:
        """Keep the address of the server, which places get with the first trial."""
        self._server_url = server_url
        self._connected.set()

    async def describe(self, framework: str) -> FrameworkInfo:
        """Describe the framework on every node that there is; its environment is built there first."""
        if self.hidden is not None:
            await self._connected.wait()  # a worker in the sandbox is started for one server
        for left in reversed(range(DESCRIPTIONS)):
            if framework in self._infos:
                break
            places = {place.node: place for place in await self._some_places()}.values()
            asked = (self._ask(place, "describe", framework, self._server_url) for place in places)
            try:
                found = await asyncio.gather(*asked)
            except PlaceLost as lost:
                if not left:
                    raise DriverBroken(f"places were lost while they described {framework}: {lost}") from lost
                continue
            infos = [_read_info(place.node, *answer) for place, answer in zip(places, found, strict=True)]
            for place, info in zip(places, infos, strict=True):
                if differs := difference(infos[0], info):
                    first = next(iter(places)).node
                    raise DriverError(f"the nodes {first} and {place.node} differ: {differs}; install the same on both")
                place.loaded.add(framework)
            self._infos[framework] = infos[0]
        return self._infos[framework]

    async def execute(self, spec: TrialSpec) -> Outcome | LostTrial:
        """Run a trial at a place, preferably one with an idle worker of its framework."""
        framework = spec.key.framework
        info = await self.describe(framework)
        while True:
            place, kind, text = await self._free_place(framework), "", ""
            # A node that has joined since the run began is compared with the others by its first trial.
            expected = None if framework in place.loaded else info.model_dump_json()
            try:
                kind, text = await self._ask(place, "execute", spec.model_dump_json(), expected, self._server_url)
            except PlaceLost as lost:
                return LostTrial(place.node, str(lost))
            finally:
                place.busy = False
                # A place that is lost, or whose trial was given up, would be free at once, and take trial after trial.
                if kind not in ("Outcome", "UnfitNode"):
                    self._drop(place)
                self._wake()
            if kind == "Outcome":
                place.loaded.add(framework)
                return Outcome.model_validate_json(text).model_copy(update={"node": place.node})
            if kind != "UnfitNode":
                # The local executor raises nothing for a trial: this is the node's, such as a full disk.
                return LostTrial(place.node, f"{kind}: {text[:SHOWN]}")
            if (place.node, framework) not in self._unfit:
                self._unfit.add((place.node, framework))
                LOG.warning("the node %s is not used: %s", place.node, text)

    async def _some_places(self) -> list[OpenPlace]:
        """Return all places; wait for the first one."""
        try:
            async with asyncio.timeout(self.patience):
                while not self.places:
                    await self._change.wait()
        except TimeoutError:
            raise NothingMeasured(f"there is no node, and none has joined{self._why()}") from None
        return list(self.places.values())

    def _why(self) -> str:
        return f" within {self.patience:g} s" + (f": {self.absence}" if self.absence else "")

    async def _free_place(self, framework: str) -> OpenPlace:
        """Take a free place on a node that supports the framework; wait for one if necessary.

        Raises:
            NothingMeasured: there was no such node for ``patience`` seconds.
        """
        end: float | None = None
        while True:
            usable = [one for one in self.places.values() if (one.node, framework) not in self._unfit]
            if free := [place for place in usable if not place.busy]:
                place = min(free, key=lambda one: (framework not in one.loaded, len(one.loaded), one.number))
                place.busy = True
                return place
            if usable:
                end, self._waits = None, False
            elif end is None:
                end = asyncio.get_running_loop().time() + self.patience
                if not self._waits:
                    LOG.warning("no node is left; waiting up to %g s for one", self.patience)
                self._waits = True
            try:
                async with asyncio.timeout_at(end):
                    await self._change.wait()
            except TimeoutError:
                raise NothingMeasured(f"no node was left, and none has joined{self._why()}") from None

    def _wake(self) -> None:
        """Wake every task that waits for a change of the places."""
        self._change.set()
        self._change = asyncio.Event()

    def _drop(self, place: OpenPlace) -> None:
        """End a place; the bridge then makes another one."""
        self.places.pop(place.number, None)
        self._send(end=place.number)

    async def _ask(self, place: OpenPlace, method: str, *arguments: Any) -> tuple[str, str]:
        """Call a method of a place; returns the class and text of the result or error.

        Raises:
            PlaceLost: there is no answer.
        """
        number = next(self._numbers)
        answer: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        self._send(call=number, place=place.number, method=method, arguments=arguments)
        try:
            return await answer
        finally:
            del self._asked[number]

    def _send(self, **message: Any) -> None:
        if self._process is not None and self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def _take(self, message: Any) -> None:
        with suppress(KeyError, asyncio.InvalidStateError):  # of a call that was given up
            match message:
                case {"host": host}:
                    self._host = host
                case {"opened": number, "node": node}:
                    self.places[number] = OpenPlace(number, node)
                case {"gone": number, "reason": reason}:
                    self.places.pop(number, None)
                    self.absence = reason
                case {"answered": number, "kind": kind, "text": text}:
                    self._asked[number].set_result((kind, text))
                case {"lost": number, "reason": reason}:
                    self._asked[number].set_exception(PlaceLost(reason))
                case _:
                    raise ValueError("a message that is not known")
        self._wake()

    async def _keep_bridge(self) -> None:
        while True:
            try:
                reason = await self._serve()
            except Exception as error:  # noqa: BLE001 - the next bridge may succeed after any error
                reason = f"the program that speaks with it had to be ended: {type(error).__name__}: {error}"[:SHOWN]
                if self._process is not None:
                    await end_process(self._process)
            self.absence = reason
            self.places.clear()
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(PlaceLost(reason))
            self._wake()
            await asyncio.sleep(AGAIN)

    async def _serve(self) -> str:
        """Start a bridge and take its messages until it ends; returns its last words."""
        # It only needs the cluster's keys, not the engine's.
        own = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
        variables = worker_environment("") | own
        del variables[WORKER_MARK]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "trialbed_ray.bridge"),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=LONGEST,
            env=variables,
            # Ctrl-C in the terminal is the engine's to handle.
            start_new_session=True,
        )
        self._process = process
        assert process.stdout is not None  # noqa: S101 - asked for above
        assert process.stderr is not None  # noqa: S101
        self._send(**self._order())
        errors = asyncio.create_task(_tail(process.stderr))
        try:
            while line := await process.stdout.readline():
                self._take(json.loads(line))
            await process.wait()
            lines = (await errors).split("\n")
            return LOGGED.sub("", lines[-1]) or NOTHING_KNOWN
        finally:
            errors.cancel()

    def _order(self) -> dict[str, Any]:
        memory = self.options.get("memory")
        return {
            "address": self.options.get("address", ""),
            "places": max(1, self.concurrency),
            "cpus": _number("cpus", self.options.get("cpus", "1")),
            "memory": MEMORY if memory is None else read_memory("--executor-option memory", memory),
            "setup": {
                "locks": {label: environment.lock for label, environment in self.environments.items()},
                "hidden": None if self.hidden is None else [str(path) for path in self.hidden],
                "options": {} if memory is None else {"memory": memory},
            },
        }


async def _tail(stream: asyncio.StreamReader) -> str:
    kept = b""
    with suppress(asyncio.CancelledError):
        while chunk := await stream.read(4096):
            kept = (kept + chunk)[-TAIL:]
    return kept.decode(errors="replace").strip()


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise UsageError(f"--executor-option {name}: {text!r} is not a number above 0")
    return found


def _read_info(node: str, kind: str, text: str) -> FrameworkInfo:
    """Read the description of a framework on a node; raise an error that the node reported."""
    if kind == "FrameworkInfo":
        return FrameworkInfo.model_validate_json(text)
    text = f"{text} (on the node {node})"
    if kind == "SandboxUnavailable":  # it takes more than a text
        raise NothingMeasured(text)
    found: object = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, TrialbedError):
        raise found(text)
    raise DriverBroken(f"{kind}: {text}")
