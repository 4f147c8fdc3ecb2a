"""Trialbed's adapter for the OpenAI Agents SDK."""

from trialbed_openai_agents._agent import OpenAIAgentsAgent

__all__ = ["OpenAIAgentsAgent"]
