"""Adapters that offer other tools or other schemas than they were given."""

from __future__ import annotations

from typing import ClassVar

from support.defects._defective import Defective


class OffersAToolOfItsOwn(Defective):
    caught_by = ("no_other_tools_are_offered",)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        function = {"name": "final_answer", "description": "Call this to end.", "parameters": {}}
        self._definitions = [*self._definitions, {"type": "function", "function": function}]


class OffersTwoToolsAtMost(Defective):
    caught_by = ("all_tools_are_offered", "calls_reach_their_own_apis")

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools[:2], server_url=server_url)


class FoldsNames(Defective):
    caught_by = ("tool_names_are_kept", "similar_tool_names_are_told_apart")

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        for definition in self._definitions:
            definition["function"]["name"] = definition["function"]["name"].lower().replace("-", "_")


class SortsTools(Defective):
    caught_by = ("tool_order_is_kept",)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(sorted(tools, key=lambda tool: tool.name.lower()), server_url=server_url)


class NeedsParameters(Defective):
    caught_by = ("tools_without_parameters",)

    def bind_tools(self, tools, *, server_url):
        for tool in tools:
            tool.parameters["properties"]
        super().bind_tools(tools, server_url=server_url)


class Schemas(Defective):
    """Changes every object in a schema; ``change`` gets and returns one."""

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        for definition in self._definitions:
            definition["function"]["parameters"] = self.walk(definition["function"]["parameters"])

    def walk(self, value):
        if isinstance(value, list):
            return [self.walk(item) for item in value]
        if isinstance(value, dict):
            return self.change({name: self.walk(item) for name, item in value.items()})
        return value

    def change(self, schema):
        return schema


class ClosesObjects(Schemas):
    caught_by = ("schema_additional_properties", "schema_nested", "schema_empty")

    def change(self, schema):
        return {**schema, "additionalProperties": False} if schema.get("type") == "object" else schema


class CompletesSchemas(Schemas):
    caught_by = ("schema_empty",)

    def change(self, schema):
        return {"properties": {}, "required": [], **schema, "title": "Arguments"} if "type" in schema else schema


class Drops(Schemas):
    """Takes keywords out of every schema."""

    words: ClassVar[tuple[str, ...]] = ()

    def change(self, schema):
        return {name: value for name, value in schema.items() if name not in self.words}


class DropsDefinitions(Drops):
    caught_by = ("schema_ref",)
    words = ("$defs",)


class DropsDefaults(Drops):
    caught_by = ("schema_default",)
    words = ("default",)


class DropsOddNames(Schemas):
    caught_by = ("schema_names",)

    def change(self, schema):
        return {name: value for name, value in schema.items() if not name.startswith("_")}
