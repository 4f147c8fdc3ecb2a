"""The controlled profile, with Agno's loop and the requests that are the same for all frameworks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import openai
from agno.agent import Agent
from agno.exceptions import ModelProviderError
from agno.models.message import Message
from agno.models.openai.like import OpenAILike
from agno.run.agent import RunOutput
from agno.run.base import RunStatus
from agno.tools.function import Function
from agno.utils.log import configure_agno_logging

from trialbed import Answer, Deviation, Usage
from trialbed_controlled import ControlledChat, ControlledProfile


class ControlledAgent(ControlledProfile):
    """One Agno agent, without a session store, per trial."""

    distribution = "agno"
    ends_with_request = True
    deviations = (
        Deviation(
            text="takes the model's reasoning in <think> tags, and what precedes it, out of the answer (not in its "
            "oldest releases)",
            upstream="https://github.com/agno-agi/agno/pull/6654",
        ),
    )

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
            RuntimeError, ModelProviderError: Agno failed; newer releases return its own errors as answers.
        """
        silence_agno()
        chat, client = self.begin(query)
        agent = Agent(
            model=TrialOpenAILike(self.endpoint.model, client),
            tools=[_bind(tool.name, chat) for tool in self.tools],
            telemetry=False,
        )
        # Old releases of Agno raise the error of a request, newer ones return it as the answer.
        try:
            output = await agent.arun(query)
        except ModelProviderError as error:
            raise client.failure or error from None
        if client.failure is not None:
            raise client.failure
        if output.status is not RunStatus.completed:
            raise RuntimeError(f"Agno's run ended as {output.status.value}: {output.content}")
        return _read(output, chat)


class TrialOpenAILike(OpenAILike):
    """Agno's model class for chat completions, on the trial's client."""

    def __init__(self, name: str, client: openai.AsyncOpenAI) -> None:
        super().__init__(id=name)
        self._client = client

    def get_async_client(self) -> openai.AsyncOpenAI:
        """Return the trial's own client; some releases of Agno share connections between agents."""
        return self._client

    def get_request_params(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Return nothing: the client sends the trial's parameters, and Agno would walk all tools' schemas first."""
        return {}


class SealedFunction(Function):
    """A function that Agno offers unchanged."""

    def process_entrypoint(self, strict: bool = False) -> None:
        """Do nothing; Agno would look for its own parameters in the signature of each tool in each run."""


def _bind(name: str, chat: ControlledChat) -> Function:
    async def make(call: str, text: Any) -> str:
        return await chat.make({"call": call, "text": text})

    return SealedFunction(
        name=name, description="", parameters=dict(chat.schema), entrypoint=make, skip_entrypoint_processing=True
    )


def _read(output: RunOutput, chat: ControlledChat) -> Answer:
    """Return the answer of a run from the last message's text, because ``output.content`` joins all turns."""
    turns = [message for message in output.messages or [] if message.role == "assistant"]
    made = (
        (tool.tool_name or "", tool.tool_args, str(tool.result or ""))
        for tool in output.tools or []
        if not tool.tool_call_error
    )
    text = turns[-1].get_content_string() if turns else ""
    return chat.answer(text, made, usage=_usage(turns), turns=len(turns) - chat.was_cut_off)


def _usage(turns: Sequence[Message]) -> Usage | None:
    """Return the tokens of all messages, or None; the run's sum counts a turn again if the next has no tokens."""
    total = Usage()
    for metrics in (turn.metrics for turn in turns):
        total += Usage(prompt_tokens=metrics.input_tokens, completion_tokens=metrics.output_tokens)
    return total if total.prompt_tokens or total.completion_tokens else None


_SILENT = logging.getLogger("trialbed_agno.silent")


def silence_agno() -> None:
    """Keep Agno off the console.

    It writes every failed request and every unknown tool there, with a traceback; all of that is in the trial's
    record. The logger is replaced, since Agno resets its level in every run.
    """
    if not _SILENT.handlers:
        _SILENT.addHandler(logging.NullHandler())
        _SILENT.propagate = False
        _SILENT.setLevel(logging.CRITICAL + 1)
    configure_agno_logging(custom_default_logger=_SILENT)
