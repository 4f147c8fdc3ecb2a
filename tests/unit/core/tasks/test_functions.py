"""Functions as tools: what is read from their signatures and docstrings, and how they are called."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import weakref
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from support.cases import for_each

from trialbed.contracts import ApiRefused
from trialbed.errors import UsageError
from trialbed.foreign_code import ForeignCode
from trialbed.tasks import ToolBody, function_tools


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


async def test_arguments_are_what_the_annotations_say_and_the_result_is_json() -> None:
    found = await ToolBody(find).call({"place": {"city": "Oslo"}, "tags": ["a"]}, None, run)
    assert found == {"place": {"city": "Oslo", "floor": 0}, "kind": "tram", "limit": 3, "tags": ["a"]}


async def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ApiRefused, match=r"Invalid arguments: place: .*; limit: Input should be greater"):
        await ToolBody(find).call({"limit": 0}, None, run)


async def test_async_functions_are_awaited() -> None:
    async def double(number: int) -> int:
        await asyncio.sleep(0)
        return 2 * number

    assert await ToolBody(double).call({"number": 2}, None, run) == 4


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


def test_a_long_docstring_is_read_in_part() -> None:
    def find_it(x: int) -> None: ...

    find_it.__doc__ = "word " * 100_000
    ((api, _),) = function_tools(find_it)
    assert len(api.description) <= 20_000


def test_what_becomes_of_one_schema_of_a_function_does_not_reach_the_next() -> None:
    ((first, body),) = function_tools(find)
    assert first.json_schema is not None
    first.json_schema["properties"].clear()
    ((second, again),) = function_tools(find)
    assert second.json_schema is not None
    assert "place" in second.json_schema["properties"]
    assert again == body


def test_a_function_that_changes_is_another_tool() -> None:
    def look(number: int = 3) -> None:
        """First words."""

    (first, _), (again, _) = *function_tools(look), *function_tools(look)
    assert first == again
    look.__doc__ = "Second words."
    look.__annotations__["number"] = str
    look.__defaults__ = ("a",)
    ((second, _),) = function_tools(look)
    assert (first.description, second.description) == ("First words.", "Second words.")
    assert second.json_schema is not None
    assert second.json_schema["properties"]["number"] == {"default": "a", "type": "string"}

    @functools.wraps(look)
    def wrapper(*given: Any, **named: Any) -> None:
        """Third words."""

    wrapper.__doc__ = "Third words."
    assert [api.description for api, _ in function_tools(wrapper)] == ["Third words."]
    assert [body.function for _, body in function_tools(wrapper)] == [wrapper]


def test_a_tool_ends_with_its_function() -> None:
    class Table:
        """What a tool holds."""

    def made(table: Table) -> Callable[..., Any]:
        def look(number: int) -> str:
            return f"{number} {table}"

        return look

    look = made(Table())
    held = weakref.ref(inspect.getclosurevars(look).nonlocals["table"])
    ((_, body),) = function_tools(look)
    assert "def look" in body.source()
    del look, body
    gc.collect()
    assert held() is None
