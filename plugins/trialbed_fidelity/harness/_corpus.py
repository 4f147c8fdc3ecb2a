"""The hard schemas that every framework is offered."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from trialbed.records import Api, Json, Record, ScriptedCall, ToolSpec
from trialbed_fidelity.harness._scenes import World

CATEGORY = "Fidelity"


class HardSchema(Record):
    """One tool of the corpus.

    Attributes:
        name: the tool's name, itself hard for some.
        stresses: what about it is hard, in words.
        description: the tool's description.
        parameters: a JSON Schema (draft 2020-12).
        arguments: valid arguments, with which the tool is called.
    """

    name: str
    stresses: str
    description: str
    parameters: dict[str, Json]
    arguments: dict[str, Json]

    @property
    def api(self) -> Api:
        """The Api behind the tool. It has no documented parameters, so that it takes any arguments."""
        return Api(category=CATEGORY, tool_name="Corpus", api_name=self.name)

    @property
    def tool(self) -> ToolSpec:
        """The tool as it is offered."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.parameters, api=self.api.ref)


@cache
def corpus() -> tuple[HardSchema, ...]:
    """All of them, in an order that is not the alphabet's."""
    text = files(__package__).joinpath("corpus.json").read_text(encoding="utf-8")
    return tuple(HardSchema.model_validate(entry) for entry in json.loads(text))


def world_of(schemas: tuple[HardSchema, ...]) -> World:
    """A world that offers these tools and has each of them called with its arguments."""
    return World(
        tools=tuple(schema.tool for schema in schemas),
        apis=tuple(schema.api for schema in schemas),
        script=tuple(ScriptedCall(name=schema.name, arguments=schema.arguments) for schema in schemas),
    )
