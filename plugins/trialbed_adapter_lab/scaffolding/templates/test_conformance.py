"""The conformance checks, one test per check."""

from __future__ import annotations

import pytest

from trialbed_adapter_lab.plugin_kit import PLUGIN_CHECKS, check_plugin, find_plugin


@pytest.mark.parametrize("check", [check.name for check in PLUGIN_CHECKS["new-kind"]])
def test_conformance(check: str) -> None:
    """The plugin does as the check asks."""
    report = check_plugin(find_plugin("new-plugin", ["new-kind"]), [check])
    assert report.ok, "\n".join(finding.message for finding in report.problems)
