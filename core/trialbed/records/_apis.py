"""Apis of the virtual world, their parameters, and the JSON Schema of their arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from trialbed.records._base import Json, Record, SparseRecord


class ApiRef(Record):
    """The identity of an Api, which is the dataset's triple (category, tool_name, api_name)."""

    category: str
    tool_name: str
    api_name: str

    # Apis are looked up by it all the time; pydantic's own methods take four times as long.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApiRef) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.category, self.tool_name, self.api_name))

    @property
    def pair(self) -> tuple[str, str]:
        """The names in expectations and answers, (tool_name, api_name)."""
        return self.tool_name, self.api_name

    @property
    def title(self) -> str:
        """The original name, ``{tool_name}_{api_name}``, or a function's name; written in answers, never split."""
        return f"{self.tool_name}_{self.api_name}" if self.tool_name else self.api_name


class Parameter(Record):
    """One parameter of an Api, with the dataset's type word (``STRING``, ``NUMBER``, ``ENUM`` …)."""

    name: str
    type: str = "STRING"
    description: str = ""
    default: Json = None
    enum: tuple[Json, ...] = ()


class Api(SparseRecord):
    """One endpoint of the virtual world.

    Attributes:
        tool_name: empty for a function of the calling program.
        json_schema: the whole JSON Schema of the arguments, if the parameters do not say all of it.
    """

    category: str
    tool_name: str
    api_name: str
    description: str = ""
    tool_description: str = ""
    method: str = "GET"
    required_parameters: tuple[Parameter, ...] = ()
    optional_parameters: tuple[Parameter, ...] = ()
    template_response: Json = None
    json_schema: dict[str, Any] | None = None

    sparse = ("json_schema",)

    @property
    def ref(self) -> ApiRef:
        """The identity of this Api."""
        return ApiRef(category=self.category, tool_name=self.tool_name, api_name=self.api_name)

    def parameters_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments (an ``object`` schema)."""
        if self.json_schema is not None:
            return self.json_schema
        return parameters_schema(self.required_parameters, self.optional_parameters)


def unique_apis(apis: Iterable[Api]) -> tuple[Api, ...]:
    """Return the first Api with each identity."""
    found: dict[tuple[str, str, str], Api] = {}
    for api in apis:
        found.setdefault((api.category, api.tool_name, api.api_name), api)
    return tuple(found.values())


TYPES = {
    "STRING": "string",
    "STR": "string",
    "ENUM": "string",
    "BINARY": "string",
    "NUMBER": "number",
    "FLOAT": "number",
    "DOUBLE": "number",
    "INTEGER": "integer",
    "INT": "integer",
    "BOOLEAN": "boolean",
    "BOOL": "boolean",
    "ARRAY": "array",
    "LIST": "array",
    "OBJECT": "object",
    "DICT": "object",
}

VALUES: dict[str, Any] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}
"""JSON type -> Python's."""


def parameters_schema(required: Sequence[Parameter], optional: Sequence[Parameter]) -> dict[str, Any]:
    """Return the ``object`` schema of these parameters.

    A name that occurs twice becomes one property. Its first description is used and it is required if any occurrence
    is. Names are kept unchanged.
    """
    properties: dict[str, Any] = {}
    wanted = {parameter.name for parameter in required}
    for parameter in (*required, *optional):
        if parameter.name in properties:
            continue
        schema = properties[parameter.name] = {"type": json_type(parameter.type)}
        if parameter.description:
            schema["description"] = parameter.description
        if parameter.enum:
            schema["enum"] = list(parameter.enum)
        if (default := usable_default(parameter)) is not None:
            schema["default"] = default
    return {"type": "object", "properties": properties, "required": [name for name in properties if name in wanted]}


def json_type(word: str) -> str:
    """Return the JSON type of a dataset's type word; an unknown word (``DATE (YYYY-MM-DD)``) is a string."""
    return TYPES.get(word.strip().upper(), "string")


def usable_default(parameter: Parameter) -> Any:
    """Return the parameter's default if it is a value of its type, or a text that can be read as one; else None.

    An empty text does not count as a default.
    """
    value = parameter.default
    if value is None or value == "":
        return None
    kind = json_type(parameter.type)
    if isinstance(value, str) and kind != "string":
        value = _from_text(value, kind)
    fits = isinstance(value, VALUES[kind]) and isinstance(value, bool) == (kind == "boolean")
    return value if fits and (kind != "number" or math.isfinite(value)) else None


def _from_text(text: str, kind: str) -> Any:
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.strip().lower())
    try:
        number = float(text)
    except ValueError:
        return None
    if number.is_integer() and "." not in text and "e" not in text.lower():
        return int(number)
    return number
