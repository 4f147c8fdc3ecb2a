"""The conformance checks of both profiles of LangGraph."""

from __future__ import annotations

import pytest
from support.adapters import ControlledTests, NativeTests

from trialbed_adapter_lab.testing import AdapterConformance

pytestmark = pytest.mark.slow(60)


class TestControlled(ControlledTests, AdapterConformance):
    """The checks, less the deviations that the profile declares."""

    framework = "langgraph:controlled"


class TestNative(NativeTests):
    """The checks that the native profile can fail: what else the framework does by itself is a finding."""

    framework = "langgraph:native"
    package = "trialbed_langgraph"
