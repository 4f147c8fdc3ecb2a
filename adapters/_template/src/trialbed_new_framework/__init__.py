"""Trialbed's adapter for new-framework."""

from trialbed_new_framework._agent import NewFrameworkAgent

__all__ = ["NewFrameworkAgent"]
