"""The controlled profile: AutoGen's engine, with everything else as in the other frameworks' controlled profiles."""

from trialbed_autogen.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
