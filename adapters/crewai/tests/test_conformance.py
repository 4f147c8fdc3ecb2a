"""What every adapter must do, and what this one declares that its framework cannot."""

from __future__ import annotations

from trialbed_adapter_kit.testing import AdapterConformance


class TestCrewAI(AdapterConformance):
    """The conformance kit, one test per check."""

    framework = "crewai"
