"""The controlled profile: CrewAI's loop with Trialbed's own prompt, schemas, tool names and limits."""

from trialbed_crewai import _quiet  # noqa: F401 - before CrewAI is imported
from trialbed_crewai.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
