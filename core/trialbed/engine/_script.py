"""The gold calls of a query as scripted models play them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialbed.records import Api, ApiRef, GoldCall, Json, Query, ScriptedCall, ToolSpec, json_type, usable_default

EXAMPLES: dict[str, Json] = {
    "string": "example",
    "number": 1,
    "integer": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


def gold_script(query: Query, tools: Sequence[ToolSpec]) -> tuple[ScriptedCall, ...]:
    """The query's gold calls under the tools' names; a gold Api that is not offered cannot be played and is left out.

    Arguments are the dataset's where it has them; else each required parameter's default if it is a value
    of its type, else an example of the type.
    """
    names = {tool.api: tool.name for tool in tools}
    apis = {api.ref: api for api in query.apis}
    return tuple(
        ScriptedCall(name=names[call.api], arguments=_arguments(call, apis))
        for call in query.gold_calls
        if call.api in names
    )


def _arguments(call: GoldCall, apis: dict[ApiRef, Api]) -> dict[str, Any]:
    if call.arguments is not None:
        return call.arguments
    api = apis.get(call.api)
    return example_arguments(api) if api else {}


def example_arguments(api: Api) -> dict[str, Json]:
    """Valid arguments for the required parameters of an Api."""
    arguments: dict[str, Json] = {}
    for parameter in api.required_parameters:
        if parameter.name in arguments:
            continue
        default = usable_default(parameter)
        example = parameter.enum[0] if parameter.enum else EXAMPLES[json_type(parameter.type)]
        arguments[parameter.name] = default if default is not None else example
    return arguments
