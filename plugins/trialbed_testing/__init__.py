"""Tests of agents under pytest: trials with scripted, recorded and real models, and assertions on what the wire saw.

plugin   the fixture ``trialbed``, the marker and the options
"""

from trialbed_testing._trial import CallsMade, Condition, ObservedTrial
from trialbed_testing._trials import AgentTrials

__all__ = ["AgentTrials", "CallsMade", "Condition", "ObservedTrial"]
