"""The native program over the other dialects: right values of every policy are in the truth table of all frameworks."""

from __future__ import annotations

import pytest
from support.adapters import check_dialect

from trialbed_adapter_lab import Harness


@pytest.mark.framework("agno:messages")
async def test_messages(harness: Harness) -> None:
    await check_dialect(harness, "messages")


@pytest.mark.framework("agno:responses")
async def test_responses(harness: Harness) -> None:
    await check_dialect(harness, "responses")
