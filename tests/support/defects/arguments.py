"""Adapters that change, need or judge the arguments of calls."""

from __future__ import annotations

import json
from typing import ClassVar

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


class MakesNumbersText(Changes):
    caught_by = ("argument_types_are_kept",)

    def change(self, arguments):
        return {name: str(value) if isinstance(value, int) else value for name, value in arguments.items()}


class CoercesText(Changes):
    caught_by = ("text_arguments_stay_text",)
    values: ClassVar = {"true": True, "False": False, "null": None, "None": None}

    def change(self, arguments):
        return {
            name: self.values.get(value, value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }


class SpreadsArguments(Defective):
    caught_by = ("hostile_argument_names",)

    async def _call(self, name, text):
        try:
            arguments = json.loads(text)
            (lambda self, config=None, **rest: rest)(self, **arguments)
        except TypeError as error:
            return f"Error: {error}"
        except ValueError:
            pass
        return await super()._call(name, text)


class SpeaksAscii(Changes):
    caught_by = ("unicode_arguments",)

    def change(self, arguments):
        return json.loads(json.dumps(arguments, ensure_ascii=False).encode("ascii", "replace"))


class CutsArgumentsOff(Changes):
    caught_by = ("large_arguments",)

    def change(self, arguments):
        return {name: value[:10_000] if isinstance(value, str) else value for name, value in arguments.items()}


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


class ValidatesArguments(Defective):
    caught_by = ("arguments_are_not_repaired",)

    async def _call(self, name, text):
        return "Error: count must be an integer" if '"seven"' in text else await super()._call(name, text)


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


class RoundsLargeNumbers(Defective):
    caught_by = ("argument_types_are_kept",)

    async def _call(self, name, text):
        return await super()._call(name, text.replace("12345678901234567890", "12345678901234567000"))
