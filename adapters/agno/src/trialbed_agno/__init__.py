"""Trialbed's adapter for Agno."""

from trialbed_agno._agent import AgnoAgent

__all__ = ["AgnoAgent"]
