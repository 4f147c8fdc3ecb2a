"""Plugins under the kit for plugins: what fails of one, by the name of the check."""

from __future__ import annotations

import itertools
from typing import Any

from trialbed_adapter_lab import ConformanceReport
from trialbed_adapter_lab.plugin_kit import PluginSubject, check_plugin

COUNT = itertools.count()
"""Another number each time, for plugins that change."""


def failed(report: ConformanceReport) -> dict[str, str]:
    return {finding.check: finding.message for finding in report.problems}


def check(kind: str, thing: Any, *only: str) -> dict[str, str]:
    return failed(check_plugin(PluginSubject(kind, "mine", thing), only))
