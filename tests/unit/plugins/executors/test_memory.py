"""The memory limit's setting."""

from __future__ import annotations

import pytest

from trialbed.errors import SettingsError
from trialbed_plugins.executors._memory import memory_limit


@pytest.mark.parametrize(
    ("text", "limit"), [(None, 4 << 30), ("1048576", 1 << 20), ("512M", 512 << 20), ("2g", 2 << 30), (" 7K ", 7 << 10)]
)
def test_amounts(monkeypatch, text, limit):
    if text is None:
        monkeypatch.delenv("TRIALBED_MEMORY_LIMIT", raising=False)
    else:
        monkeypatch.setenv("TRIALBED_MEMORY_LIMIT", text)
    assert memory_limit() == limit


@pytest.mark.parametrize("text", ["", "0", "-1", "4 GB", "lots", "1.5G"])
def test_what_is_no_amount_is_named(monkeypatch, text):
    monkeypatch.setenv("TRIALBED_MEMORY_LIMIT", text)
    with pytest.raises(SettingsError, match="TRIALBED_MEMORY_LIMIT"):
        memory_limit()
