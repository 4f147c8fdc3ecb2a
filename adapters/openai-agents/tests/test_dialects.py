"""The native program over the other dialects: right values of every policy are in the truth table of all frameworks."""

from __future__ import annotations

import pytest
from support.adapters import check_dialect

from trialbed_adapter_lab import Harness


@pytest.mark.framework("openai-agents:chat-completions")
async def test_chat_completions(harness: Harness) -> None:
    await check_dialect(harness, "chat_completions")
