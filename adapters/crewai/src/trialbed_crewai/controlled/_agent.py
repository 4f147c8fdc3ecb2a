"""The agent: ``crewai.Agent`` on the trial's model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from crewai import Agent
from crewai.events.utils.console_formatter import set_suppress_console_output

from trialbed import Answer, Deviation, Limits, ModelEndpoint, Usage
from trialbed_controlled import ControlledChat, ControlledProfile, TrialClient
from trialbed_crewai.controlled._bridge import LoopBridge
from trialbed_crewai.controlled._model import UNKNOWN, RunFailed, SealedLLM
from trialbed_crewai.controlled._tools import bind_tool


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
