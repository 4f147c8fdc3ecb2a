"""The contract of an adapter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from trialbed.records import Answer, Deviation, Limits, ModelEndpoint

if TYPE_CHECKING:
    from trialbed.tools import Tool

AGENT_CONTRACT = "1"
"""The version of this contract; an adapter names the one it was written for as ``contract``."""


class BaseAgent(ABC):
    """One framework, wrapped so that it answers one query with the tools it is given.

    A driver of the group ``trialbed.frameworks`` is a subclass. Per trial the worker makes a fresh instance,
    calls ``bind_tools`` once, ``answer`` once and ``close`` once, all on one event loop.

    Class attributes:
        contract: the contract's version the adapter was written for (``"1"``); checked at load.
        capabilities: what the framework forces to be different from what the rig asks for (a prompt it adds,
            a setting it cannot take); shown in the report, and held against the conformance checks.
    """

    contract: ClassVar[str]
    capabilities: ClassVar[tuple[Deviation, ...]] = ()

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        self.endpoint = endpoint
        self.limits = limits
        self.system_prompt = system_prompt

    @classmethod
    @abstractmethod
    def framework_version(cls) -> str:
        """The version of the framework itself, as installed."""

    @abstractmethod
    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        """Hand the tools to the framework: raw schemas, unaltered; no code is made from tool text.

        Args:
            tools: sorted by name.
            server_url: the trial's virtual API; an adapter needs it only to show it.
        """

    @abstractmethod
    def answer(self, query: str) -> Answer | Mapping[str, Any] | Awaitable[Answer | Mapping[str, Any]]:
        """Answer the query; may be ``async``.

        At most ``limits.max_steps`` model requests. A tool's failure goes to the model as text. The calls
        and tokens in the answer are those that the framework reports, not those the adapter could count.
        """

    def close(self) -> Awaitable[None] | None:  # noqa: B027 - closing nothing is the usual case
        """Free what the instance holds; may be ``async``."""
