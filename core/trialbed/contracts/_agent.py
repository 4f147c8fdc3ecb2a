"""The contract of an adapter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from trialbed.records import GIVE_UP, Answer, Deviation, Limits, ModelEndpoint

if TYPE_CHECKING:
    from trialbed.tools import Tool

AGENT_CONTRACT = "3"
"""The version of this contract; an adapter states the one it was written for as ``contract``."""

NO_ENDPOINT = ModelEndpoint(base_url="", api_key="", model="")
"""The endpoint of an agent that brings its own model."""

NO_LIMITS = Limits()

SYSTEM_PROMPT = (
    "You solve the user's task with the tools you are given. Call the tools you need, with arguments that "
    "fit their schemas; read what they return; call again when a result asks for it. When you know enough, "
    "answer the task in plain text and state the facts you found. If the task cannot be solved with these "
    f"tools, answer with {GIVE_UP} followed by the reason."
)
"""The system prompt of every trial, the same for all frameworks."""


class BaseAgent(ABC):
    """One framework, wrapped to answer one query with the tools it is given.

    A driver of the group ``trialbed.frameworks`` is a subclass, named ``NAME``, or ``NAME:PROFILE`` if the adapter sets
    its framework up in several ways. ``native`` is the program that the framework's own documentation teaches, with all
    its defaults; ``tuned`` adds the options that it offers for robustness. In ``controlled`` it is only a conductor,
    and the requests, the parsing of arguments and the error texts are Trialbed's, equal for all frameworks. A profile
    named like a dialect, such as ``messages``, is the native program over another class for models. Per trial the
    worker makes a fresh instance, calls ``bind_tools`` once, ``answer`` for each message of the user (mostly one), and
    ``close`` once, all on one event loop.

    For ``run_benchmark``, which takes an object, ``answer`` is enough. The object exists already and has its own model.

    The endpoint, the tools and the system prompt are the trial's in every profile. The gateway and the worker enforce
    the limits, so an agent need not. A model request past the limit is refused, and ends the trial.

    Class attributes:
        contract: the version of the contract that the adapter was written for (``"3"``); checked at load.
        deviations: each departure of the framework from the contract (a prompt that it adds, a setting that it does not
            take); shown in the report, and compared with the conformance checks.
        dialect: the dialect of its model requests, by its name in ``trialbed.wire.dialects``.
        converses: whether ``answer`` can be called again on the same instance, with the user's next message, and
            continues the conversation; its answer then claims the calls and tokens of that turn alone. Trialbed refuses
            tasks with several turns for other adapters.
        has_turns: whether the user writes several messages in this trial. The worker sets it before ``bind_tools``, as
            some frameworks need another setup for a conversation.
        finish_tool: the framework's own tool that a model calls with its answer, by its name on offer; empty if the
            answer is a text. Scripted models end with it.
    """

    contract: ClassVar[str]
    deviations: ClassVar[tuple[Deviation, ...]] = ()
    dialect: ClassVar[str] = "chat_completions"
    converses: ClassVar[bool] = False
    has_turns: bool = False
    finish_tool: ClassVar[str] = ""

    def __init__(
        self, endpoint: ModelEndpoint = NO_ENDPOINT, limits: Limits = NO_LIMITS, *, system_prompt: str = ""
    ) -> None:
        self.endpoint = endpoint
        self.limits = limits
        self.system_prompt = system_prompt

    @classmethod
    def framework_version(cls) -> str:
        """Return the version of the framework itself, as installed; unless it is overridden, the name of this class."""
        return f"{cls.__module__}.{cls.__qualname__}"

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Hand the tools to the framework, in the form that it takes; no code is generated from tool text.

        A controlled profile hands over the raw schemas, unaltered.

        Args:
            tools: sorted by name.
            server_url: the trial's virtual API. The tools know it; an adapter needs it only to show it, or to bind the
                tools by MCP, with ``mcp_url(server_url)``.
        """
        self.tools = list(tools)

    @abstractmethod
    def answer(self, query: str) -> Answer | Mapping[str, Any] | Awaitable[Answer | Mapping[str, Any]]:
        """Answer the query; may be ``async``.

        Exceptions of the framework may be raised unchanged. A tool's failure is its text. The calls and tokens in the
        answer are the framework's report, not counted by the adapter.
        """

    def close(self) -> Awaitable[None] | None:  # noqa: B027 - closing nothing is the usual case
        """Free the resources of the instance; may be ``async``."""
