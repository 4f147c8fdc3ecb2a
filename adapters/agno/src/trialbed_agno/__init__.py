"""Agno on the rig."""

from trialbed_agno._agent import AgnoAgent

__all__ = ["AgnoAgent"]
