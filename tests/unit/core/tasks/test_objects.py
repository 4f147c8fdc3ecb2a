"""Tools of frameworks, definitions and callables as tools of tasks."""

from __future__ import annotations

import asyncio
import inspect
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from support.cases import for_each

from trialbed import ApiRefused, Task
from trialbed.errors import UsageError
from trialbed.tasks import compile_tasks

SCHEMA = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}


def find(order: int, shop: str = "here") -> dict[str, Any]:
    """Find an order."""
    if order > 9:
        raise ApiRefused("no such order")
    return {"order": order, "shop": shop}


async def find_async(order: int) -> dict[str, Any]:
    """Find an order."""
    return {"order": order}


def run(order: int, run_manager: Any = None) -> dict[str, Any]:
    return find(order, "here" if run_manager is None else "there")


class Finder:
    """Finds orders."""

    name, description = "find", "Find an order."
    inputs = SCHEMA["properties"]

    def forward(self, order: int) -> dict[str, Any]:
        return {"order": order}

    def __call__(self, order: int) -> dict[str, Any]:
        return {"order": order}


class Model:
    """A class that stands for a pydantic model."""

    @staticmethod
    def model_json_schema() -> dict[str, Any]:
        return SCHEMA


def named(**attributes: Any) -> Any:
    return SimpleNamespace(**{"name": "find", "description": "Find an order.", "metadata": None, **attributes})


METADATA = SimpleNamespace(name="find", description="Find an order.", get_parameters_dict=lambda: SCHEMA)
AGNO = named(entrypoint=find, parameters={"type": "object", "properties": {}})
OBJECTS = [
    ("LangChain", named(func=find, tool_call_schema=Model, args_schema=Model, metadata={})),
    ("LangChain, async", named(func=None, coroutine=find_async, tool_call_schema=SCHEMA)),
    ("LangChain, a class", named(_run=run, tool_call_schema=SCHEMA)),
    ("CrewAI", named(func=find, args_schema=Model)),
    ("Pydantic AI", named(function=find, function_schema=SimpleNamespace(json_schema=SCHEMA))),
    ("Agno", AGNO),
    ("Agno, a toolkit", SimpleNamespace(functions={"find": AGNO})),
    ("LangChain, a toolkit", SimpleNamespace(get_tools=lambda: [AGNO])),
    ("smolagents", Finder()),
    ("LlamaIndex", SimpleNamespace(metadata=METADATA, real_fn=find)),
    ("AutoGen", named(_func=find, schema={"parameters": SCHEMA})),
    ("Google ADK", named(func=find)),
    ("Agent Framework", named(func=find, parameters=lambda: SCHEMA)),
    ("Anthropic", named(func=find, input_schema=SCHEMA)),
    ("a partial function", partial(find, shop="there")),
    ("an object with __call__", type("find", (), {"__call__": Finder.__call__, "__doc__": "Find an order."})()),
]


async def called(given: Any, **arguments: Any) -> Any:
    """The result of a call of the only tool of a task."""
    ((query,), functions, _) = compile_tasks([Task("?", tools=given)])
    (api,) = query.apis
    assert (api.api_name, api.description) == ("find", "Find an order.")
    assert api.json_schema is not None
    assert api.json_schema["properties"]["order"]["type"] == "integer"

    async def here(begin: Any) -> Any:
        value = begin()
        return await value if inspect.isawaitable(value) else value

    return await functions[api.ref].call(arguments, None, here)


@for_each(("framework", "given"), OBJECTS)
def test_a_tool_of_a_framework_is_a_tool(framework: str, given: Any) -> None:
    for one in (given, [given]):
        assert asyncio.run(called(one, order=7))["order"] == 7, framework
    with pytest.raises(ApiRefused, match="Invalid arguments: order: "):
        asyncio.run(called(given, order="seven"))


async def test_a_tool_of_the_agents_sdk_gets_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    async def invoke(context: Any, text: str) -> Any:
        return context.tool_name, text

    monkeypatch.setitem(sys.modules, "agents.tool_context", SimpleNamespace(ToolContext=lambda _, **of: named(**of)))  # type: ignore[arg-type] # stands for a module
    assert await called(named(params_json_schema=SCHEMA, on_invoke_tool=invoke), order=7) == ["find", '{"order": 7}']


@for_each(
    "given",
    [
        {"type": "function", "function": {"name": "find", "parameters": SCHEMA}},
        {"type": "function", "name": "find", "parameters": SCHEMA, "strict": True},
        {"name": "find", "description": "", "input_schema": SCHEMA},
    ],
)
def test_the_simulator_answers_for_a_definition(given: Any) -> None:
    for tools in (given, [given]):
        ((query,), functions, _) = compile_tasks([Task("?", tools=tools)])
        assert [(api.api_name, api.json_schema) for api in query.apis] == [("find", SCHEMA)]
        assert not functions


def of_context(context: Any, order: int) -> int:
    return order


@for_each(
    ("given", "says"),
    [
        ({"type": "web_search"}, "is not the definition of a tool: it has no function with a name"),
        ({"name": "find", "input_schema": {"type": 3}}, "task 1: the schema of find cannot be used: "),
        (named(func=of_context, args_schema=SCHEMA), "only its framework can fill 'context'; give a function"),
        (named(), "is not a tool; give a function, a class, a framework's tool with its function, a definition"),
        (3, "is not a tool; give a function"),
    ],
)
def test_other_objects_are_refused_in_words(given: Any, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        compile_tasks([Task("?", tools=[given])])
    assert says in str(raised.value)
