"""The schemas of the objects that models answer with."""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string"}
REASON = {"type": "string", "description": "One or two sentences."}


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with all of these properties, in their order, and with no other."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
