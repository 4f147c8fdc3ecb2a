"""The conformance checks, less the deviations that this adapter declares."""

from __future__ import annotations

from trialbed_adapter_lab.testing import AdapterConformance


class TestNewFramework(AdapterConformance):
    """The conformance kit, one test per check."""

    framework = "new-framework"
