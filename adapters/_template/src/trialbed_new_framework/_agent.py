"""Run new-framework behind ``trialbed.BaseAgent``, following its documentation.

The adapter works unchanged, with the small loop in ``_loop``. Replace the loop with the program that your framework's
own documentation teaches for an agent with tools, one REPLACE at a time, and run ``bench adapter check`` after each.
Undo nothing that the framework does on its own: that is the subject of a comparison. REPLACE this sentence: name the
page and the release that each choice is taken from.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import ClassVar

from trialbed import (
    Answer,
    BaseAgent,
    ClaimedCall,
    Deviation,
    Limits,
    ModelEndpoint,
    Tool,
    Usage,
    finish_of,
)
from trialbed_new_framework._loop import Function, Loop, Model, Outcome


class NewFrameworkAgent(BaseAgent):
    """One agent per trial; nothing is shared with the next one."""

    contract = "3"
    # REPLACE: what your framework forces, as Deviation(check="<name in bench adapter check>", text="<why>").
    deviations: ClassVar[tuple[Deviation, ...]] = ()

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        # REPLACE: your framework's client of a model. The trial's settings are those that were given, and the seed.
        settings = {"model": endpoint.model} | endpoint.given("temperature", "max_tokens", "seed")
        self._model = Model(endpoint.base_url, endpoint.api_key, timeout=limits.request_timeout, settings=settings)

    @classmethod
    def framework_version(cls) -> str:
        """Return the framework's version."""
        # REPLACE: the distribution that you wrap; the loop below is part of this one.
        return version("trialbed-new-framework")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent with its tools."""
        self._apis = {tool.name: tool.api for tool in tools}
        # REPLACE: your framework's agent, with its tools bound as documented for tools that come as JSON Schema.
        self._loop = Loop(
            self._model,
            instructions=self.system_prompt,
            functions=[Function(tool.name, tool.description, tool.parameters, tool.ainvoke) for tool in tools],
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent; the framework's exceptions are raised, and the gateway keeps the trial's limits."""
        # REPLACE: the call that runs your framework's agent.
        return self._read(await self._loop.run(query))

    async def close(self) -> None:
        """Close the connections."""
        # REPLACE: what your framework keeps open.
        await self._model.close()

    def _read(self, outcome: Outcome) -> Answer:
        """Return the framework's own report, with None for figures that it does not report."""
        # REPLACE: your framework's own report. Do not count in the adapter: Trialbed counts at the wire.
        usage = None
        if outcome.tokens is not None:
            usage = Usage(prompt_tokens=outcome.tokens[0], completion_tokens=outcome.tokens[1])
        calls = (
            ClaimedCall(name=call.name, api=self._apis[call.name], arguments=call.arguments, response=call.response)
            for call in outcome.calls
        )
        return Answer(
            final_answer=outcome.text,
            calls=tuple(calls),
            finish=finish_of(outcome.text),
            usage=usage,
            model_turns=outcome.turns,
        )
