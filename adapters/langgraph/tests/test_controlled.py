"""LangGraph's own traps, and LangChain's."""

from __future__ import annotations

import pytest

from trialbed_adapter_lab import tool

pytestmark = pytest.mark.framework("langgraph:controlled")


async def test_schemas_with_references_are_not_written_out(harness):
    schema = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/node", "title": "First"}},
    }
    record = await harness.run("done", tools=[tool(parameters=schema)])
    assert record.requests[0].parameters("Echo_text") == schema
