"""The adapters of this checkout pass the kit, as their authors would run it."""

from __future__ import annotations

from trialbed.testing import AdapterConformance


class TestReference(AdapterConformance):
    framework = "reference"
