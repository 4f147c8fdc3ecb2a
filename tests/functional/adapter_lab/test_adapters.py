"""Adapters without a framework of their own pass the kit, as their authors would run it."""

from __future__ import annotations

import pytest
from support.blocking import BlockingAgent

from trialbed_adapter_lab.testing import AdapterConformance


class TestReference(AdapterConformance):
    framework = "reference"


@pytest.mark.slow
class TestMessages(AdapterConformance):
    framework = "reference-messages"


@pytest.mark.slow
class TestResponses(AdapterConformance):
    framework = "reference-responses"


class TestBlocking(AdapterConformance):
    """An adapter may answer without ``async``; it then runs in a thread, which nobody can cancel."""

    agent = BlockingAgent
