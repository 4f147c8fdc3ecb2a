"""The plugin loads and fulfils its contract."""

from __future__ import annotations

from trialbed_adapter_lab.plugin_check import check_plugin


def test_the_plugin_fulfils_its_contract() -> None:
    """No departure from the contract is found."""
    assert check_plugin("new-plugin", "new-word").problem == ""
