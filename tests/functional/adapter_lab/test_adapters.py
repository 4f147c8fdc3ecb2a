"""Adapters without a framework of their own pass the kit, as their authors would run it."""

from __future__ import annotations

from support.blocking import BlockingAgent

from trialbed_adapter_lab.testing import AdapterConformance


class TestReference(AdapterConformance):
    framework = "reference"


class TestBlocking(AdapterConformance):
    """An adapter may answer without ``async``; it then runs in a thread, which nobody can cancel."""

    agent = BlockingAgent
