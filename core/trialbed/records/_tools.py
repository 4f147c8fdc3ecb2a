"""What an agent is offered."""

from __future__ import annotations

from typing import Any

from trialbed.records._apis import ApiRef
from trialbed.records._base import Json, Record


class ToolSpec(Record):
    """An Api as an agent sees it, as data: model-safe name, description, JSON Schema of the arguments."""

    name: str
    description: str
    parameters: dict[str, Any]
    api: ApiRef


class ScriptedCall(Record):
    """A gold call as a scripted model plays it: the tool's name and complete arguments."""

    name: str
    arguments: dict[str, Json]
