"""Trialbed's adapter for AutoGen AgentChat."""

from trialbed_autogen._agent import AutoGenAgent

__all__ = ["AutoGenAgent"]
