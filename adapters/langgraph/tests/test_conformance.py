"""The conformance checks, less the deviations that the adapter for LangGraph declares."""

from __future__ import annotations

from trialbed_adapter_kit.testing import AdapterConformance


class TestLangGraph(AdapterConformance):
    framework = "langgraph:controlled"
