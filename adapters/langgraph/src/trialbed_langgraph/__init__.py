"""LangGraph on the rig."""

from trialbed_langgraph._agent import LangGraphAgent

__all__ = ["LangGraphAgent"]
