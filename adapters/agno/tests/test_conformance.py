"""The conformance checks, less the deviations that the adapter for Agno declares."""

from __future__ import annotations

from trialbed_adapter_kit.testing import AdapterConformance


class TestAgno(AdapterConformance):
    framework = "agno:controlled"
