"""Adapters that offer other tools or other schemas than they were given."""

from __future__ import annotations

from support.defects._defective import Defective


class OffersTwoToolsAtMost(Defective):
    caught_by = ("all_tools_are_offered", "calls_reach_their_own_apis")

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools[:2], server_url=server_url)


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


class DropsOddNames(Schemas):
    caught_by = ("schema_names",)

    def change(self, schema):
        return {name: value for name, value in schema.items() if not name.startswith("_")}
