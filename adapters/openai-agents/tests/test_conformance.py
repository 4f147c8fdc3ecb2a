"""The conformance checks, less the deviations that the adapter for the OpenAI Agents SDK declares."""

from __future__ import annotations

from support.adapters import ControlledTests, NativeTests

from trialbed_adapter_lab.testing import AdapterConformance


class TestControlled(ControlledTests, AdapterConformance):
    """The conformance kit, one test per check."""

    framework = "openai-agents:controlled"


class TestNative(NativeTests):
    """The checks that the native profile can fail: what else the framework does by itself is a finding."""

    framework = "openai-agents:native"
    package = "trialbed_openai_agents"
