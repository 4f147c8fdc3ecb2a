"""The controlled profile: Pydantic AI's loop, and the requests that are the same for all frameworks."""

from trialbed_pydantic_ai.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
