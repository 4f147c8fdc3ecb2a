"""The native program over the other dialects: right values of every policy are in the truth table of all frameworks."""

from __future__ import annotations

import pytest
from support.adapters import check_dialect

from trialbed_adapter_lab import Harness

# AutoGen itself uses a name that its MCP client deprecates, and warns of what a model does.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore:Use `streamable_http_client`:DeprecationWarning")


@pytest.mark.framework("autogen:messages")
async def test_messages(harness: Harness) -> None:
    await check_dialect(harness, "messages")
