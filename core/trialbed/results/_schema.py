"""The JSON Schema of the result document."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def document_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12) that every result document satisfies."""
    schema: dict[str, Any] = json.loads(files("trialbed.results").joinpath("document.schema.json").read_text())
    return schema
