"""What every adapter must do, and what this one declares that LangGraph cannot."""

from __future__ import annotations

from trialbed_adapter_kit.testing import AdapterConformance


class TestLangGraph(AdapterConformance):
    framework = "langgraph"
