"""The controlled profile, with CrewAI's loop and the requests that are the same for all frameworks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

from anyio.from_thread import BlockingPortal
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, PrivateAttr

from trialbed import Answer, Deviation, Limits, ModelEndpoint, ModelFailed, Usage
from trialbed_controlled import ControlledChat, ControlledProfile, TrialClient
from trialbed_crewai import _quiet  # noqa: F401 - before CrewAI is imported

from crewai import Agent, BaseLLM  # isort: skip
from crewai.events.utils.console_formatter import set_suppress_console_output  # isort: skip
from crewai.tools import BaseTool  # isort: skip

Result = TypeVar("Result")


class LoopBridge:
    """Runs coroutines on the trial's event loop for threads, which wait for them.

    CrewAI calls models and tools in threads, which cannot be stopped. What they wait for runs on the loop instead, so
    that it ends with the trial, and the threads with it.
    """

    def __init__(self) -> None:
        self._portal: BlockingPortal | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Use the running loop; at the end cancel what still runs, and refuse further calls."""
        failure: Exception | None = None
        async with BlockingPortal() as self._portal:
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below: the portal would put it into an exception group
                failure = error
            finally:
                await self._portal.stop(cancel_remaining=True)
        if failure is not None:
            raise failure

    def call(self, function: Callable[..., Awaitable[Result]], *args: Any) -> Result:
        """Run an async function on the loop and wait for its result; not to be called on the loop.

        Raises:
            RuntimeError: the trial is over, or has not begun.
            concurrent.futures.CancelledError: the trial ended before the function did.
        """
        if self._portal is None:
            raise RuntimeError("the trial has not started")
        return self._portal.call(function, *args)


EMPTY = " "
"""Given to CrewAI for an empty answer; it treats an empty text as a failure."""

UNKNOWN = "unknown_tool"
"""The tool of CrewAI for the calls of tools that are not offered."""


class RunFailed(Exception):
    """A request failed.

    Its text is meaningless on purpose: CrewAI looks for a reason to ask again in an error's text and its causes.
    """


class SealedLLM(BaseLLM):
    """A model that is asked the trial's requests instead of CrewAI's."""

    _client: TrialClient = PrivateAttr()
    _bridge: LoopBridge = PrivateAttr()
    _names: Mapping[str, str] = PrivateAttr()

    @classmethod
    def of(cls, model: str, client: TrialClient, bridge: LoopBridge, names: Mapping[str, str]) -> Self:
        """Return the trial's model.

        Args:
            names: name of a tool -> CrewAI's name for it, which CrewAI does not change.
        """
        sealed = cls(model=model)
        sealed._client, sealed._bridge, sealed._names = client, bridge, names
        return sealed

    def supports_function_calling(self) -> bool:
        """Always."""
        return True

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        """Ask the model.

        Raises:
            RunFailed: the request failed.
        """
        if self._client.failure is not None:
            return EMPTY
        try:
            completion = self._bridge.call(self._ask, messages)
        except ModelFailed:
            raise RunFailed("the request failed") from None
        if completion.usage is not None:
            self._track_token_usage_internal(completion.usage.model_dump(exclude_none=True))
        message = completion.choices[0].message
        return [self._rename(call) for call in message.tool_calls or ()] or message.content or EMPTY

    async def _ask(self, messages: Any) -> ChatCompletion:
        answered: ChatCompletion = await self._client.post(
            "/chat/completions", cast_to=ChatCompletion, body={"messages": messages}
        )
        return answered

    def _rename(self, call: Any) -> Any:
        name = self._names.get(call.function.name, UNKNOWN)
        return call.model_copy(update={"function": call.function.model_copy(update={"name": name})})


class CallArguments(BaseModel):
    """The arguments of all tools."""

    call: str
    text: str

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """Return the schema, which CrewAI renders three times per tool and trial."""
        return {"title": cls.__name__, **ControlledChat.schema}


class SealedTool(BaseTool):
    """A tool of CrewAI; the trial's conversation makes its calls, on the trial's loop."""

    args_schema: type[BaseModel] = CallArguments
    chat: Any
    bridge: Any

    def _run(self, call: str, text: str) -> Any:
        return self.bridge.call(self.chat.make, {"call": call, "text": text})


def bind_tool(name: str, chat: ControlledChat, bridge: LoopBridge) -> SealedTool:
    """Return a tool of CrewAI by its name there."""
    return SealedTool(name=name, description="", chat=chat, bridge=bridge)


class ControlledAgent(ControlledProfile):
    """One CrewAI agent per trial, in a thread of its own."""

    distribution = "crewai"
    ends_with_request = True
    deviations = (
        Deviation(
            text="makes at most eight calls of one turn at the same time",
            upstream="https://github.com/crewAIInc/crewAI/pull/4513",
        ),
    )

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._bridge = LoopBridge()
        self._thread = ThreadPoolExecutor(1, "trialbed-crewai")

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat, client = self.begin(query)
        async with self._bridge.open():
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, query, chat, client)

    async def close(self) -> None:
        """Wait for CrewAI's threads, and close the connections."""
        await asyncio.to_thread(self._thread.shutdown)
        await super().close()

    def _run(self, query: str, chat: ControlledChat, client: TrialClient) -> Answer:
        """Run CrewAI on a dedicated event loop, because it keeps its loop busy."""
        set_suppress_console_output(True)
        names = {tool.name: f"tool_{place}" for place, tool in enumerate(self.tools)}
        model = SealedLLM.of(self.endpoint.model, client, self._bridge, names)
        agent = Agent(
            role="Assistant",
            goal="Solve the task",
            backstory="",
            llm=model,
            tools=[bind_tool(name, chat, self._bridge) for name in (*names.values(), UNKNOWN)],
            max_iter=self.limits.max_steps + 1,
            max_retry_limit=0,
            cache=False,
            respect_context_window=False,
            use_better_compaction=False,
            verbose=False,
        )
        try:
            output = asyncio.run(agent.kickoff_async(query))
        except RunFailed:
            output = None
        if client.failure is not None:
            raise client.failure
        return _read(output, chat, names, model.get_token_usage_summary())


def _read(output: Any, chat: ControlledChat, names: Mapping[str, str], spent: Any) -> Answer:
    """Return the answer that CrewAI gives, with its report of the run."""
    usage = Usage(prompt_tokens=spent.prompt_tokens, completion_tokens=spent.completion_tokens)
    return chat.answer(
        output.raw if output.raw.strip() else "",
        _made_calls(output, {own: name for name, own in names.items()}),
        usage=usage if usage.total_tokens else None,
        turns=sum(said["role"] == "assistant" for said in output.messages) - chat.was_cut_off,
    )


def _made_calls(output: Any, names: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Name, arguments and result of each call in the conversation that CrewAI returns, in the model's order."""
    results = {said["tool_call_id"]: said["content"] for said in output.messages if said["role"] == "tool"}
    for call in (call for said in output.messages for call in said.get("tool_calls") or ()):
        name = names.get(call["function"]["name"], "")
        yield name, json.loads(call["function"]["arguments"]), results.get(call["id"], "")
