"""The executor ``ray``."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import logging
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import ClassVar, Self

from trialbed import errors
from trialbed.contracts import Executor, LostTrial, difference
from trialbed.errors import DriverBroken, DriverError, NothingMeasured, SettingsError, TrialbedError, UsageError
from trialbed.installed import extra_command
from trialbed.records import FrameworkInfo, Outcome, TrialSpec
from trialbed_plugins.executors.local import read_memory
from trialbed_ray._messages import Answer, Connect, Describe, Described, Execute, Executed, NotDone, PlaceSetup
from trialbed_ray._places import OpenPlace, PlaceLost, Places

LOG = logging.getLogger("trialbed")

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
        self._infos: dict[str, FrameworkInfo] = {}
        # Node and framework -> how it differs from the first; empty if it does not, None while that is looked at.
        self._problems: dict[tuple[str, str], str | None] = {}
        self._looking: set[asyncio.Task[None]] = set()
        self._waits = False
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
        for task in self._looking:
            task.cancel()
        await self._places.close()

    def server_host(self) -> str:
        """Return this machine's address in the cluster."""
        return self._places.host

    def connect(self, server_url: str) -> None:
        """Send the address of the server to all places, and to those that come later."""
        self._places.use(server_url)

    async def describe(self, framework: str) -> FrameworkInfo:
        """Describe the framework on every node that there is; its environment is built there first."""
        while framework not in self._infos:
            there = await self._nodes()
            described = (self._describe(framework, node) for node in there)
            for node, found in zip(there, await asyncio.gather(*described, return_exceptions=True), strict=True):
                if isinstance(found, BaseException):
                    if node in self._there():
                        raise found
                    continue  # it was lost meanwhile, which may be the reason
                first = self._infos.setdefault(framework, found)
                if differs := difference(first, found):
                    raise DriverError(f"the nodes {there[0]} and {node} differ: {differs}; install the same on both")
                self._problems[node, framework] = ""
        return self._infos[framework]

    async def _describe(self, framework: str, node: str) -> FrameworkInfo:
        """Describe the framework as a worker on this node finds it."""
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

    def _there(self) -> list[str]:
        """The nodes that have a place."""
        return sorted({place.node for place in self._places.open.values()})

    async def _nodes(self) -> list[str]:
        """The nodes that have a place, once there is one."""
        try:
            async with asyncio.timeout(self.patience):
                while not self._there():
                    await self._places.changed()
        except TimeoutError:
            raise NothingMeasured(f"there is no node, and none has come{self._why()}") from None
        return self._there()

    def _why(self) -> str:
        return f" within {self.patience:g} s" + (f": {self.absence}" if self.absence else "")

    async def execute(self, spec: TrialSpec) -> Outcome | LostTrial:
        """Run a trial at a place, if possible one where a worker of its framework waits."""
        place = await self._free(spec.key.framework)
        answer: Answer | None = None
        try:
            answer = await place.ask(Execute(number=next(self._numbers), spec=spec))
        except PlaceLost as lost:
            return LostTrial(place.node, str(lost))
        finally:
            place.busy = False
            # Where it is lost, or the trial was given up, it would be free at once, and take trial after trial.
            if not isinstance(answer, Executed):
                self._places.drop(place)
            self._places.wake()
        if isinstance(answer, Executed):
            return answer.outcome.model_copy(update={"node": place.node})
        # The local executor raises nothing for a trial: this is the node's, such as a full disk.
        error, message = (answer.error, answer.message) if isinstance(answer, NotDone) else ("protocol", answer.type)
        return LostTrial(place.node, f"{error}: {message[:300]}")

    async def _free(self, framework: str) -> OpenPlace:
        """Take a place on a node where the framework is the same as on the others, once there is a free one.

        Raises:
            NothingMeasured: there has been no such node for as long as the patience.
        """
        end: float | None = None
        while True:
            self._look_at_new(framework)
            usable = [one for one in self._places.open.values() if self._problems.get((one.node, framework)) == ""]
            if free := [place for place in usable if not place.busy]:
                place = min(free, key=lambda one: (framework not in one.loaded, len(one.loaded), one.number))
                place.busy = True
                place.loaded.add(framework)
                return place
            joins = any(self._problems[node, framework] is None for node in self._there())
            # The time in which a node joins is no waiting.
            if usable or joins:
                end, self._waits = None, False
            elif end is None:
                end = asyncio.get_running_loop().time() + self.patience
                if not self._waits:
                    LOG.warning("no node is left; one is waited for, at most %g s", self.patience)
                self._waits = True
            try:
                async with asyncio.timeout_at(end):
                    await self._places.changed()
            except TimeoutError:
                raise NothingMeasured(f"no node was left, and none has come{self._why()}") from None

    def _look_at_new(self, framework: str) -> None:
        """Begin to describe a framework on the nodes that have joined, and forget those that are gone."""
        there = self._there()
        self._problems = {key: problem for key, problem in self._problems.items() if key[0] in there}
        for node in there:
            if (node, framework) not in self._problems:
                self._problems[node, framework] = None
                task = asyncio.create_task(self._look(node, framework))
                self._looking.add(task)
                task.add_done_callback(self._looking.discard)

    async def _look(self, node: str, framework: str) -> None:
        """See whether a framework is the same on a node as on the first."""
        try:
            found = await self._describe(framework, node)
            problem = difference(self._infos.setdefault(framework, found), found)
        except TrialbedError as error:
            problem = str(error)
        self._problems[node, framework] = problem
        if problem:
            LOG.warning("the node %s is not used: %s", node, problem)
        self._places.wake()

    def _note_absence(self, reason: str) -> None:
        self.absence = reason

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
