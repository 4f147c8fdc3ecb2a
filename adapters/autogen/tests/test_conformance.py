"""The conformance checks, less the deviations that the adapter for AutoGen declares."""

from __future__ import annotations

import pytest
from support.adapters import ControlledTests, NativeTests

from trialbed_adapter_lab.testing import AdapterConformance

# AutoGen itself uses a name that its MCP client deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:Use `streamable_http_client`:DeprecationWarning")


class TestControlled(ControlledTests, AdapterConformance):
    """The conformance kit, one test per check."""

    framework = "autogen:controlled"


class TestNative(NativeTests):
    """The checks that the native profile can fail: what else the framework does by itself is a finding."""

    framework = "autogen:native"
    package = "trialbed_autogen"
