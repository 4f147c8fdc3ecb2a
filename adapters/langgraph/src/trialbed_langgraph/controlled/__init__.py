"""The controlled profile: LangGraph's loop, and the requests that are the same for all frameworks."""

from trialbed_langgraph.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
