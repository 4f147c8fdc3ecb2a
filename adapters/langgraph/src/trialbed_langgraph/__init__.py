"""Trialbed's adapter for LangGraph."""

from trialbed_langgraph._agent import LangGraphAgent

__all__ = ["LangGraphAgent"]
