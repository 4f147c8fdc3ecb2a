"""The conformance checks of the profiles of Google ADK."""

from __future__ import annotations

from support.adapters import ControlledTests, NativeTests

from trialbed_adapter_lab.testing import AdapterConformance


class TestControlled(ControlledTests, AdapterConformance):
    """The checks, less the deviations that the profile declares."""

    framework = "google-adk:controlled"


class TestNative(NativeTests):
    """The checks that the native profile can fail: what else the framework does by itself is a finding."""

    framework = "google-adk:native"
    package = "trialbed_google_adk"


class TestTuned(NativeTests):
    """The same checks for the tuned profile."""

    framework = "google-adk:tuned"
    package = "trialbed_google_adk"
