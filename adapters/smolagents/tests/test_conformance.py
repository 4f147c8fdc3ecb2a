"""The conformance checks of the profiles of smolagents."""

from __future__ import annotations

from support.adapters import ControlledTests, NativeTests

from trialbed_adapter_lab.testing import AdapterConformance


class TestControlled(ControlledTests, AdapterConformance):
    """The checks, less the deviations that the profile declares."""

    framework = "smolagents:controlled"


class TestNative(NativeTests):
    """The checks that the native profile can fail: what else the framework does by itself is a finding."""

    framework = "smolagents:native"
    package = "trialbed_smolagents"
    declared_findings = ("tool_names_are_kept",)


class TestTuned(NativeTests):
    """The same checks for the tuned profile."""

    framework = "smolagents:tuned"
    package = "trialbed_smolagents"
    declared_findings = ("tool_names_are_kept",)
