"""The conformance checks of both profiles of Pydantic AI."""

from __future__ import annotations

from support.adapters import ControlledTests, NativeTests

from trialbed_adapter_lab.testing import AdapterConformance


class TestControlled(ControlledTests, AdapterConformance):
    """The checks, less the deviations that the profile declares."""

    framework = "pydantic-ai:controlled"


class TestNative(NativeTests):
    """The checks that the native profile can fail: what else the framework does by itself is a finding."""

    framework = "pydantic-ai:native"
    package = "trialbed_pydantic_ai"
