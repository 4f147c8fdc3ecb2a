"""The conformance checks, less the deviations that the adapter for AutoGen declares."""

from __future__ import annotations

from trialbed_adapter_kit.testing import AdapterConformance


class TestAutoGen(AdapterConformance):
    """The conformance kit, one test per check."""

    framework = "autogen"
