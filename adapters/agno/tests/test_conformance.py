"""What every adapter must do, and what this one declares that Agno cannot."""

from __future__ import annotations

from trialbed.testing import AdapterConformance


class TestAgno(AdapterConformance):
    framework = "agno"
