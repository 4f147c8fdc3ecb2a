"""Executors whose nodes come, are slow to join, and are lost as a test says, and trials that ended on one."""

from __future__ import annotations

from typing import Any

from support.clocks import SteppingClock

from trialbed.contracts import Executor, Node
from trialbed.errors import DriverError
from trialbed.records import FrameworkInfo


class Cluster(Executor):
    """Nodes that come and go as a test says."""

    patience = 10.0

    def __init__(self, **capacities: int) -> None:
        super().__init__()
        self.capacities = capacities
        self.packages: dict[str, tuple[str, ...]] = {}
        self.accepted: list[str] = []
        self.broken: set[str] = set()
        self.identities: dict[str, str] = {}
        self.mute = 0
        self.refusing: set[str] = set()

    async def __aexit__(self, *_: Any) -> None:
        """Nothing to end."""

    def nodes(self) -> tuple[Node, ...]:
        if self.mute:
            self.mute -= 1
            raise ConnectionError("no answer of the head")
        return tuple(Node(name, room, self.identities.get(name, "")) for name, room in self.capacities.items())

    def accept(self, node: str) -> None:
        if node in self.refusing:
            raise ConnectionError("it does not answer")
        self.accepted.append(node)

    async def describe(self, framework: str, node: str = "") -> FrameworkInfo:
        if node in self.broken:
            raise DriverError("the adapter is missing")
        packages = self.packages.get(node, ("openai==1", "pydantic==2"))
        return FrameworkInfo(
            name=framework, version="1", adapter="a", adapter_version="1", python="3", packages=packages
        )

    async def execute(self, spec: Any) -> Any:
        raise NotImplementedError


class Here(Cluster):
    """One machine."""

    def nodes(self) -> Any:
        return None


class Fleeting(Cluster):
    """One node that is lost while it is described, and back at once, again and again; for a while, another is there."""

    def __init__(self) -> None:
        super().__init__(a=1)
        self.starts = 0

    def nodes(self) -> tuple[Node, ...]:
        return super().nodes() or (Node("b", 2, str(self.starts)),)

    async def describe(self, framework: str, node: str = "") -> FrameworkInfo:
        if node == "b":
            self.starts += 1
            raise DriverError("it was lost")
        return await super().describe(framework, node)


class Slow(Cluster):
    """Nodes other than the first take as long to be described as a test says, and are then refused or lost."""

    def __init__(self, time: SteppingClock, took: float, **capacities: int) -> None:
        super().__init__(**capacities)
        self.time, self.took = time, took
        self.begun = 0
        self.lost = 0

    async def describe(self, framework: str, node: str = "") -> FrameworkInfo:
        if node in ("a", "c"):
            return await super().describe(framework, node)
        self.begun += 1
        await self.time.moved(self.took)
        if self.lost:
            self.lost -= 1
            self.identities[node] = f"started {self.begun}"
        return await super().describe(framework, node)
