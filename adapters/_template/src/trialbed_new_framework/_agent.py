"""The adapter: new-framework behind ``trialbed.BaseAgent``.

It works as it is, with the small loop in ``_loop``. Replace the loop with your framework, one REPLACE at a time, and
run ``bench adapter check`` after each to see whether the adapter still does what Trialbed asks for.
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
    ModelFailed,
    Tool,
    Usage,
    finish_of,
)
from trialbed_new_framework._loop import Function, Loop, Model, ModelError, Outcome


class NewFrameworkAgent(BaseAgent):
    """One agent per trial; nothing is shared with the next one."""

    contract = "2"
    # REPLACE: what your framework forces, as Deviation(check="<name in bench adapter check>", text="<why>").
    deviations: ClassVar[tuple[Deviation, ...]] = ()

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        # REPLACE: your framework's client of a model, for this endpoint alone and without retries.
        self._model = Model(
            endpoint.base_url,
            endpoint.api_key,
            settings={
                "model": endpoint.model,
                "temperature": endpoint.temperature,
                "seed": endpoint.seed,
                **({} if endpoint.max_tokens is None else {"max_tokens": endpoint.max_tokens}),
            },
            timeout=limits.request_timeout,
        )

    @classmethod
    def framework_version(cls) -> str:
        """The framework's version."""
        # REPLACE: the distribution that you wrap; the loop below is part of this one.
        return version("trialbed-new-framework")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent with its tools."""
        self._apis = {tool.name: tool.api for tool in tools}
        # REPLACE: your framework's agent and tools: the schema as it is, the arguments as one mapping.
        self._loop = Loop(
            self._model,
            instructions=self.system_prompt,
            functions=[Function(tool.name, tool.description, tool.parameters, tool.ainvoke) for tool in tools],
            max_turns=self.limits.max_steps,
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        # REPLACE: the call that runs your framework's agent, and the errors that it raises when the model fails.
        try:
            outcome = await self._loop.run(query)
        except ModelError as error:
            raise ModelFailed(str(error)) from error
        return self._read(outcome)

    async def close(self) -> None:
        """Close the connections."""
        # REPLACE: what your framework keeps open.
        await self._model.close()

    def _read(self, outcome: Outcome) -> Answer:
        """The framework's own report, with None for figures that it does not report."""
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
