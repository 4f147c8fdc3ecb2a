"""The executor ``ray``."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import ClassVar, Self

from trialbed import errors
from trialbed.contracts import Executor, LostTrial, Node
from trialbed.errors import DriverBroken, NothingMeasured, SettingsError, TrialbedError, UsageError
from trialbed.installed import extra_command
from trialbed.records import FrameworkInfo, Outcome, TrialSpec
from trialbed_plugins.executors.local import read_memory
from trialbed_ray._messages import Answer, Connect, Describe, Described, Execute, Executed, NotDone, PlaceSetup
from trialbed_ray._places import OpenPlace, PlaceLost, Places

MEMORY = 1 << 30
"""Bytes that Ray reserves for a trial."""

PATIENCE = 120.0
"""Seconds that a cluster, or a node of it, is waited for."""

DESCRIPTIONS = 3
"""Places of a node that are asked to describe a framework, one after the other, where they are lost meanwhile."""


class RayExecutor(Executor):
    """Runs trials in workers on the nodes of a Ray cluster, as many at a time as it has room for.

    Each place for a trial is an actor, which Ray puts where processors and memory are free. An actor that is lost, with
    its node or alone, costs its trial a repetition, and Ray is asked for another one. Nodes that join are used. The
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
            "patience": f"seconds that a node is waited for where there is none; {PATIENCE:g} by default",
        }
    )

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> None:
        """See that Ray is installed, and the amounts can be read."""
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
        self._accepted: set[str] = set()
        self._numbers = itertools.count(1)
        self._places = Places(self._order(), max(1, self.concurrency), self._note_absence)
        try:
            async with asyncio.timeout(self.patience):
                await self._places.begin(self.options.get("host"))
        except BaseException as error:
            await self._places.close()
            if isinstance(error, TimeoutError):
                advice = "start one with `ray start --head`, or name it with --ray-address HOST:PORT"
                raise NothingMeasured(f"--executor ray: {self.absence or 'no cluster answers'}; {advice}") from error
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the actors and their workers."""
        await self._places.close()

    def server_host(self) -> str:
        """Return this machine's address in the cluster."""
        return self._places.host

    def connect(self, server_url: str) -> None:
        """Send the address of the server to all places, and to those that come later."""
        self._places.use(server_url)

    def nodes(self) -> tuple[Node, ...]:
        """The nodes that have a place."""
        counts = Counter(place.node for place in self._places.open.values())
        return tuple(Node(name, count) for name, count in sorted(counts.items()))

    def accept(self, node: str) -> None:
        """Run trials there."""
        self._accepted.add(node)
        self._places.wake()

    async def describe(self, framework: str, node: str = "") -> FrameworkInfo:
        """Describe the framework as a worker on this node finds it; its environment is built there first."""
        reason = "is not there any more"
        for _ in range(DESCRIPTIONS):
            own = [place for place in self._places.open.values() if place.node == node]
            if not own:
                break
            place = min(own, key=lambda one: (len(one.loaded), one.number))
            place.loaded.add(framework)
            try:
                answer = await place.ask(Describe(number=next(self._numbers), framework=framework))
            except PlaceLost as lost:
                # One place is not the node, which is left out where it differs: another place may say whether it does.
                reason = f"was lost while it described {framework}: {lost}"
                continue
            if isinstance(answer, Described):
                return answer.info
            raise _error(answer, node)
        raise DriverBroken(f"the node {node} {reason}")

    async def execute(self, spec: TrialSpec) -> Outcome | LostTrial:
        """Run a trial at a place, if possible one where a worker of its framework waits."""
        place = await self._free(spec.key.framework)
        if place is None:
            return LostTrial("the cluster", self.absence or "there is no node")
        answer: Answer | None = None
        try:
            answer = await place.ask(Execute(number=next(self._numbers), spec=spec))
        except PlaceLost as lost:
            return LostTrial(place.node, str(lost))
        finally:
            place.busy = False
            # Where it is lost, or the trial was given up, it would be free at once, and take trial after trial.
            if place.node not in self._accepted or not isinstance(answer, Executed):
                self._places.drop(place)
            self._places.wake()
        if isinstance(answer, Executed):
            return answer.outcome.model_copy(update={"node": place.node})
        # The local executor raises nothing for a trial: this is the node's, such as a full disk.
        error, message = (answer.error, answer.message) if isinstance(answer, NotDone) else ("protocol", answer.type)
        return LostTrial(place.node, f"{error}: {message[:300]}")

    async def _free(self, framework: str) -> OpenPlace | None:
        """Take a place, once there is a free one; None where there has been none at all for long."""
        while not (free := [place for place in self._usable() if not place.busy]):
            if self._usable():
                await self._places.changed()
                continue
            try:
                async with asyncio.timeout(self.patience):
                    while not self._usable():
                        await self._places.changed()
            except TimeoutError:
                return None
        place = min(free, key=lambda one: (framework not in one.loaded, len(one.loaded), one.number))
        place.busy = True
        place.loaded.add(framework)
        return place

    def _note_absence(self, reason: str) -> None:
        self.absence = reason

    def _usable(self) -> list[OpenPlace]:
        return [place for place in self._places.open.values() if place.node in self._accepted]

    def _order(self) -> Connect:
        memory = self.options.get("memory")
        setup = PlaceSetup(
            locks={label: environment.lock for label, environment in self.environments.items()},
            hidden=self.hidden,
            options={} if memory is None else {"memory": memory},
        )
        return Connect(
            address=self.options.get("address", ""),
            cpus=_number("cpus", self.options.get("cpus", "1")),
            memory=MEMORY if memory is None else read_memory("--executor-option memory", memory),
            setup=setup,
        )


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise UsageError(f"--executor-option {name}: {text!r} is not a number above 0")
    return found


def _error(answer: Answer, node: str) -> TrialbedError:
    if not isinstance(answer, NotDone):
        return DriverBroken(f"{answer.type} is no description (on the node {node})")
    text = f"{answer.message} (on the node {node})"
    if answer.error == "SandboxUnavailable":  # it takes more than a text
        return NothingMeasured(text)
    kind: object = getattr(errors, answer.error, None)
    if isinstance(kind, type) and issubclass(kind, TrialbedError):
        return kind(text)
    return DriverBroken(f"{answer.error}: {text}")
