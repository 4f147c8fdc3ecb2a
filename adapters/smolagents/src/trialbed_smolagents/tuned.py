"""The native program with the agent that smolagents' documentation calls the default: ``CodeAgent``.

From smolagents 1.26.0 and https://huggingface.co/docs/smolagents:

* Agent: "Agents - Guided tour", "CodeAgent", and the reference of agents: its calls are Python code, "the default".
* Executor: "Secure code execution", "Our local Python executor", which is the default too. The code runs in the
  worker's process, with the worker's rights.

The model is offered no tools, and sends no calls: the tools are functions in its prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from smolagents import ActionStep, CodeAgent

from trialbed import ClaimedCall, Tool
from trialbed_smolagents.native import NativeAgent


class TunedAgent(NativeAgent):
    """One ``CodeAgent`` per trial, in a thread.

    Its memory has programs instead of calls; therefore smolagents' executor notes the calls.
    """

    finish_tool = ""
    kind = CodeAgent

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        """Build the agent, with tools that note their calls."""
        super().bind_tools(tools, server_url=server_url)
        self._made: list[ClaimedCall] = []
        for name in self._apis:
            tool = self._agent.tools[name]
            tool.forward = self._noting(name, list(tool.inputs), tool.forward)

    def _noting(self, name: str, inputs: Sequence[str], forward: Callable[..., str]) -> Callable[..., str]:
        def note(*values: Any, **named: Any) -> str:
            arguments = {**dict(zip(inputs, values, strict=False)), **named}
            response = forward(**arguments)
            self._made.append(ClaimedCall(name=name, api=self._apis[name], arguments=arguments, response=response))
            return response

        return note

    def _calls(self, steps: Sequence[ActionStep]) -> Iterator[ClaimedCall]:  # noqa: ARG002 - which have programs
        made, self._made = self._made, []
        return iter(made)
