"""LangGraph under the same conditions as every framework: raw schemas, no retries, and a step limit of its own."""

from trialbed_langgraph.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
