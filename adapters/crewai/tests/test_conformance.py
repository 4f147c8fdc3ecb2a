"""The conformance checks, less the deviations that the adapter for CrewAI declares."""

from __future__ import annotations

from support.adapters import ControlledTests, NativeTests

from trialbed_adapter_lab.testing import AdapterConformance


class TestControlled(ControlledTests, AdapterConformance):
    """The conformance kit, one test per check."""

    framework = "crewai:controlled"


class TestNative(NativeTests):
    """The checks that the native profile can fail: what else the framework does by itself is a finding."""

    framework = "crewai:native"
    package = "trialbed_crewai"


class TestTuned(NativeTests):
    """The same checks for the tuned profile."""

    framework = "crewai:tuned"
    package = "trialbed_crewai"
