"""The base of all records."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict with str keys."""


class Record(BaseModel):
    """A frozen value that can be written as JSON and read back unchanged; unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())
