"""Trialbed's adapter for CrewAI."""

from trialbed_crewai import _quiet  # noqa: F401 - before CrewAI is imported
from trialbed_crewai._agent import CrewAIAgent

__all__ = ["CrewAIAgent"]
