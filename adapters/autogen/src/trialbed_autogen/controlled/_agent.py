"""The agent: AgentChat's ``AssistantAgent`` on the trial's client."""

from __future__ import annotations

from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken

from trialbed import Answer
from trialbed_autogen.controlled._model import chat_model
from trialbed_autogen.controlled._reading import final_text, made_calls, total_usage
from trialbed_autogen.controlled._tools import SealedWorkbench
from trialbed_controlled import ControlledProfile


class ControlledAgent(ControlledProfile):
    """One assistant agent per trial; it keeps its conversation."""

    distribution = "autogen-agentchat"
    _cancellation: CancellationToken | None = None

    async def answer(self, query: str) -> Answer:
        """Run the agent; one iteration of tools is one model request.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat, client = self.begin(query)
        self._cancellation = CancellationToken()
        agent = AssistantAgent(
            "agent",
            model_client=chat_model(self.endpoint.model, client),
            workbench=SealedWorkbench([tool.name for tool in self.tools], chat),
            max_tool_iterations=self.limits.max_steps,
            reflect_on_tool_use=False,
        )
        messages = (await agent.run(task=query, cancellation_token=self._cancellation)).messages
        usages = [message.models_usage for message in messages if message.models_usage is not None]
        return chat.answer(final_text(messages[-1]), made_calls(messages), usage=total_usage(usages), turns=len(usages))

    async def close(self) -> None:
        """End the calls that a cancelled run left behind, and close the connections."""
        if self._cancellation is not None:
            self._cancellation.cancel()
        await super().close()
