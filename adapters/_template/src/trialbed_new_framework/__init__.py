"""new-framework on the rig."""

from trialbed_new_framework._agent import NewFrameworkAgent

__all__ = ["NewFrameworkAgent"]
