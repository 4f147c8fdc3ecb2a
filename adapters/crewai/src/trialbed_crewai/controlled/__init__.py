"""The controlled profile, with CrewAI's loop and the requests that are the same for all frameworks."""

from trialbed_crewai import _quiet  # noqa: F401 - before CrewAI is imported
from trialbed_crewai.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
