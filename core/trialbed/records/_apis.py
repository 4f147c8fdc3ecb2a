"""The virtual world: Apis and their parameters."""

from __future__ import annotations

from typing import Any

from trialbed.records._base import Json, Record


class ApiRef(Record):
    """The identity of an Api: the triple (category, tool_name, api_name), as the dataset spells it."""

    category: str
    tool_name: str
    api_name: str

    @property
    def pair(self) -> tuple[str, str]:
        """(tool_name, api_name): what gold lists and answers name."""
        return self.tool_name, self.api_name

    @property
    def title(self) -> str:
        """The original name, ``{tool_name}_{api_name}``; written in answers, never split."""
        return f"{self.tool_name}_{self.api_name}"


class Parameter(Record):
    """One parameter of an Api, with the dataset's type word (``STRING``, ``NUMBER``, ``ENUM`` …)."""

    name: str
    type: str = "STRING"
    description: str = ""
    default: Json = None
    enum: tuple[Json, ...] = ()


class Api(Record):
    """One endpoint of the virtual world."""

    category: str
    tool_name: str
    api_name: str
    description: str = ""
    tool_description: str = ""
    method: str = "GET"
    required_parameters: tuple[Parameter, ...] = ()
    optional_parameters: tuple[Parameter, ...] = ()
    template_response: Json = None

    @property
    def ref(self) -> ApiRef:
        """The identity of this Api."""
        return ApiRef(category=self.category, tool_name=self.tool_name, api_name=self.api_name)

    def parameters_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments (an ``object`` schema)."""
        from trialbed.records._json_schema import parameters_schema

        return parameters_schema(self.required_parameters, self.optional_parameters)
