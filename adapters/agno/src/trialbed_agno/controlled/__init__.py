"""The controlled profile: Agno's loop, and the requests that are the same for all frameworks."""

from trialbed_agno.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
