"""A hundred tools with names and JSON Schemas that frameworks and models often fail to pass on unchanged."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from trialbed.records import Api, Json, Record, ToolSpec


class HardSchema(Record):
    """One tool with a hard name or schema.

    Attributes:
        name: the tool's name, unique among all.
        stresses: what makes it hard, in words.
        description: the tool's description.
        parameters: a JSON Schema (draft 2020-12).
        arguments: valid arguments for a call of the tool.
    """

    name: str
    stresses: str
    description: str
    parameters: dict[str, Json]
    arguments: dict[str, Json]

    @property
    def api(self) -> Api:
        """The Api behind the tool. It accepts any arguments, because it has no documented parameters."""
        return Api(category="Hard schemas", tool_name="Corpus", api_name=self.name)

    @property
    def tool(self) -> ToolSpec:
        """The tool on offer."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.parameters, api=self.api.ref)


@cache
def hard_schemas() -> tuple[HardSchema, ...]:
    """Return all hard schemas, in an order that is not alphabetical."""
    text = files("trialbed.wire").joinpath("hard_schemas.json").read_text(encoding="utf-8")
    return tuple(HardSchema.model_validate(entry) for entry in json.loads(text))
