"""The controlled profile: smolagents' loop, and the requests that are the same for all frameworks."""

from trialbed_smolagents.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
