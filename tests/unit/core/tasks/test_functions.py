"""Functions as tools: what is read from their signatures and docstrings, and how they are called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.foreign_code import ForeignCode
from trialbed.tasks import function_tools


class Place(BaseModel):
    city: str
    floor: int = 0


def find(
    place: Place,
    kind: Literal["tram", "bus"] = "tram",
    limit: Annotated[int, Field(ge=1, description="how many")] = 3,
    tags: list[str] | None = None,
) -> dict[str, Any]:
    """Find stops near a place.

    The nearest first.

    Args:
        place: where to look,
            as an address.
        kind (str): which: any of two.
        other: nothing.

    Returns:
        kind: not a parameter.
    """
    return {"place": place, "kind": kind, "limit": limit, "tags": tags}


class Desk:
    def __init__(self) -> None:
        self.booked: list[int] = []

    def book(self, seat: int) -> list[int]:
        """Book a seat."""
        self.booked.append(seat)
        return self.booked

    @staticmethod
    def rules(seat: int) -> str:
        """The rules of a seat."""
        return f"none for {seat}"

    def state(self) -> Any:
        """No tool."""

    def _hidden(self) -> None:
        """No tool."""


async def run(work: Callable[[], Any]) -> Any:
    return await ForeignCode().call(work)


def test_the_schema_is_of_the_signature_and_the_descriptions_are_of_the_docstring() -> None:
    ((api, _),) = function_tools(find)
    assert (api.ref.title, api.ref.category) == ("find", "functions")
    assert api.description == "Find stops near a place.\n\nThe nearest first."
    schema = api.parameters_schema()
    assert schema["required"] == ["place"]
    assert schema["properties"] == {
        "place": {"$ref": "#/$defs/Place", "description": "where to look, as an address."},
        "kind": {"default": "tram", "enum": ["tram", "bus"], "type": "string", "description": "which: any of two."},
        "limit": {"default": 3, "description": "how many", "minimum": 1, "type": "integer"},
        "tags": {"anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}], "default": None},
    }
    assert [parameter.name for parameter in api.required_parameters] == ["place"]
    assert [(parameter.name, parameter.type) for parameter in api.optional_parameters] == [
        ("kind", "STRING"),
        ("limit", "INTEGER"),
        ("tags", "STRING"),
    ]


async def test_public_methods_of_a_class_are_tools_and_share_an_object() -> None:
    found = {api.api_name: (api, body) for api, body in function_tools(Desk)}
    assert set(found) == {"book", "rules"}
    assert {api.category for api, _ in found.values()} == {"Desk"}
    assert list(found["book"][0].parameters_schema()["properties"]) == ["seat"]
    body = found["book"][1]
    owner = body.make_owner(None)
    await body.call({"seat": 1}, owner, run)
    assert await body.call({"seat": 2}, owner, run) == [1, 2]
    assert await found["rules"][1].call({"seat": 2}, owner, run) == "none for 2"
    assert body.make_owner(None).booked == []


def by_place(number: int, /) -> int:
    return number


def several(*numbers: int) -> int:
    return sum(numbers)


def odd(what: asyncio.Event) -> None:
    """Takes what JSON has not."""


@for_each("function", [by_place, several, odd])
def test_what_cannot_be_called_with_json_is_no_tool(function: Any) -> None:
    with pytest.raises(UsageError, match=f"{function.__name__} cannot be a tool: "):
        list(function_tools(function))
