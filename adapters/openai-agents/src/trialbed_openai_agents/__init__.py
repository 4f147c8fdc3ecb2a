"""The OpenAI Agents SDK on the rig."""

from trialbed_openai_agents._agent import OpenAIAgentsAgent

__all__ = ["OpenAIAgentsAgent"]
