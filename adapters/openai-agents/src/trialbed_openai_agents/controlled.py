"""The controlled profile, with the SDK's loop and Trialbed's own schemas, ids and limits."""

from __future__ import annotations

import json
from typing import Any, cast

import openai
from agents import (
    Agent,
    FunctionTool,
    MaxTurnsExceeded,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunErrorDetails,
    Runner,
    RunResult,
)
from agents.tool_context import ToolContext

from trialbed import Answer
from trialbed_controlled import ControlledChat, ControlledProfile
from trialbed_openai_agents._reading import claimed_usage, count_turns, made_calls

LEFT_OUT = cast(bool, openai.omit)
"""Without a word about strictness, which the SDK would check the schema for."""


class ControlledAgent(ControlledProfile):
    """One agent per trial."""

    distribution = "openai-agents"

    async def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat, client = self.begin(query)
        agent = Agent(
            name="agent",
            tools=[_bind(tool.name, chat) for tool in self.tools],
            model=OpenAIChatCompletionsModel(self.endpoint.model, client),
        )
        settings = RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
        try:
            run = await Runner.run(agent, query, max_turns=self.limits.max_steps, run_config=settings)
        except MaxTurnsExceeded as error:
            if error.run_data is None:
                raise
            ended: RunResult | RunErrorDetails = error.run_data
            text = ""
        else:
            ended, text = run, str(run.final_output or "")
        return chat.answer(text, made_calls(ended.new_items), usage=claimed_usage(ended), turns=count_turns(ended))


def _bind(name: str, chat: ControlledChat) -> FunctionTool:
    async def invoke(_: ToolContext[Any], text: str) -> str:
        return await chat.make(json.loads(text))

    return FunctionTool(
        name=name,
        description="",
        params_json_schema=dict(chat.schema),
        on_invoke_tool=invoke,
        strict_json_schema=LEFT_OUT,
    )
