"""The agent: ``crewai.Agent`` with the trial's settings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from crewai import Agent
from crewai.events.utils.console_formatter import set_suppress_console_output

from trialbed import Answer, BaseAgent, Deviation, Limits, ModelEndpoint, Tool
from trialbed_crewai.controlled._bridge import BridgeTransport, LoopBridge
from trialbed_crewai.controlled._model import RunFailed, TrialCompletion
from trialbed_crewai.controlled._names import ToolNames
from trialbed_crewai.controlled._report import RunReport
from trialbed_crewai.controlled._tools import crew_tools


class ControlledAgent(BaseAgent):
    """One CrewAI agent per trial, in a thread of its own."""

    contract = "3"
    deviations = (
        Deviation(
            text="makes at most eight calls of one turn at the same time",
            upstream="https://github.com/crewAIInc/crewAI/pull/4513",
        ),
    )

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._bridge = LoopBridge()
        self._transport = BridgeTransport(self._bridge, endpoint, limits)
        self._thread = ThreadPoolExecutor(1, "trialbed-crewai")

    @classmethod
    def framework_version(cls) -> str:
        """CrewAI's version."""
        return version("crewai")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        self._names = ToolNames(tool.name for tool in tools)
        self._apis = {tool.name: tool.api for tool in tools}
        self._model = TrialCompletion.of(self.endpoint, self.limits, self._transport)
        self._model.offer(tools, self._names)
        self._agent = Agent(
            role="Assistant",
            goal="Solve the task",
            backstory=self.system_prompt,
            llm=self._model,
            tools=crew_tools({self._names.inner(tool.name): tool for tool in tools}, self._bridge),
            max_iter=self.limits.max_steps + 1,
            max_retry_limit=0,
            cache=False,
            respect_context_window=False,
            use_better_compaction=False,
            verbose=False,
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        async with self._bridge.open():
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, query)

    async def close(self) -> None:
        """Wait for CrewAI's threads, and close the connections."""
        await asyncio.to_thread(self._thread.shutdown)
        await self._transport.aclose()

    def _run(self, query: str) -> Answer:
        """The run, on an event loop of its own: CrewAI keeps the loop it runs on busy."""
        set_suppress_console_output(True)
        self._model.begin([{"role": "system", "content": self.system_prompt}, {"role": "user", "content": query}])
        with RunReport(str(self._agent.id)) as report:
            text = self._text(query)
        self._model.raise_error()
        return report.answer(text, self._model.get_token_usage_summary(), self._names, self._apis)

    def _text(self, query: str) -> str:
        try:
            return str(asyncio.run(self._agent.kickoff_async(query)).raw)
        except RunFailed:
            return ""
