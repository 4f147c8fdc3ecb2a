"""Adapters that change, need or judge the arguments of calls."""

from __future__ import annotations

import json

from support.defects._defective import Defective


class Changes(Defective):
    """Changes the arguments of every call; ``change`` gets and returns a dict."""

    def change(self, arguments):
        return arguments

    async def _call(self, name, text):
        try:
            arguments = json.loads(text)
        except ValueError:
            return await super()._call(name, text)
        if not isinstance(arguments, dict):
            return await super()._call(name, text)
        return await super()._call(name, json.dumps(self.change(arguments)))


class NeedsArguments(Defective):
    caught_by = ("empty_arguments",)

    async def _call(self, name, text):
        return await super()._call(name, text) if text else "Error: Expecting value"


class RaisesOnInvalidArguments(Changes):
    caught_by = ("invalid_arguments_do_not_end_the_run", "arguments_are_not_repaired")

    def change(self, arguments):
        if not isinstance(arguments.get("count", 1), int):
            raise TypeError("count must be an integer")
        return arguments


class FillsDefaultsIn(Defective):
    caught_by = ("defaults_are_not_filled_in",)

    async def _call(self, name, text):
        try:
            given = json.loads(text)
            properties = self._tools[name].parameters.get("properties", {})
            text = json.dumps({key: value.get("default") for key, value in properties.items()} | given)
        except (ValueError, KeyError, TypeError):
            pass
        return await super()._call(name, text)
