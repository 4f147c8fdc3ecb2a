"""The conformance checks of the profiles of LangGraph."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from packaging.version import Version
from support.adapters import ControlledTests, NativeTests

from trialbed_adapter_lab.testing import AdapterConformance
from trialbed_langgraph.tuned import OLDEST

pytestmark = pytest.mark.slow(60)


class TestControlled(ControlledTests, AdapterConformance):
    """The checks, less the deviations that the profile declares."""

    framework = "langgraph:controlled"


class TestNative(NativeTests):
    """The checks that the native profile can fail: what else the framework does by itself is a finding."""

    framework = "langgraph:native"
    package = "trialbed_langgraph"


@pytest.mark.skipif(Version(version("langchain")) < Version(OLDEST), reason="the middleware is newer")
class TestTuned(NativeTests):
    """The same checks for the tuned profile."""

    framework = "langgraph:tuned"
    package = "trialbed_langgraph"
