"""The controlled profile: ADK's loop, and the requests that are the same for all frameworks."""

from trialbed_google_adk.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
