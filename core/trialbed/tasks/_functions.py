"""Functions, and tools of frameworks, as tools of tasks, with their Apis and the answers to their calls.

Frameworks' tools are recognized by their attributes, without importing a framework.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Protocol, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ArgsKwargs, to_jsonable_python

from trialbed.contracts import ApiRefused
from trialbed.errors import UsageError
from trialbed.identity import source_of
from trialbed.records import Api, Json, Parameter
from trialbed.wire.json_schemas import JsonSchema, UnusableSchema

FUNCTIONS = "functions"
"""The category of Apis that are functions. The category of methods is the name of their class."""

STATE = "state"
"""The method of a class of tools that is not a tool and returns the state after the calls of a trial."""

MAX_DOCUMENT = 20_000
"""Characters of a docstring that are read."""

SECTION = re.compile(r"(Args|Arguments|Parameters|Returns|Raises|Yields|Example|Examples|Note|Notes):\s*")
ENTRY = re.compile(r"\s*\*{0,2}(\w+)(?: \([^()]*\))?:\s*(.*)")
WORDS = {"integer": "INTEGER", "number": "NUMBER", "boolean": "BOOLEAN", "array": "ARRAY", "object": "OBJECT"}
"""Type of a JSON Schema -> the word for it in an Api's documentation; ``STRING`` for all others."""

SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
"""Kinds of parameters that stand for any number."""

Way = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a function, async or not, without blocking others."""


class ApiBody(Protocol):
    """The answers to the calls of an Api, made in the program that runs it.

    Attributes:
        owner: equal for the Apis that share the object of a trial; None without such an object.
        provenance: the mark of its answers in the wire log.
        has_to_end: whether something is held for a trial, or for the run, that has to be ended.
        checked: whether calls with arguments that do not fit the schema are already refused.
    """

    @property
    def owner(self) -> Any:
        """See above."""

    @property
    def provenance(self) -> str:
        """See above."""

    @property
    def has_to_end(self) -> bool:
        """See above."""

    @property
    def checked(self) -> bool:
        """See above."""

    @property
    def code(self) -> Any:
        """The function, class or object that is named in its failures."""

    def source(self) -> str:
        """Return a text that distinguishes versions of the code."""

    def make_owner(self, state: Json) -> Any:
        """Make the object of a trial, which reaches no server yet."""

    async def end_trial(self, owner: Any) -> None:
        """End the server that the object of a trial holds."""

    async def end_run(self) -> None:
        """End the server of all trials."""

    async def call(self, arguments: Mapping[str, Json], owner: Any, run: Way) -> Json:
        """Return the response to a call; see ``ToolBody.call``."""


class AnsweredApi(NamedTuple):
    """A tool of a task, which is an Api and the answers to its calls."""

    api: Api
    body: ApiBody


@dataclass(frozen=True)
class ToolBody:
    """Answers the calls of an Api with a function, or with a method of an object that is made for each trial.

    Attributes:
        owner: the class of the object; None for a function.
        only: the names of the parameters that calls give, if a framework gives the others; None for all.
    """

    function: Callable[..., Any]
    owner: type | None = None
    only: frozenset[str] | None = None
    provenance: ClassVar[str] = "function"
    has_to_end: ClassVar[bool] = False
    checked: ClassVar[bool] = True

    @property
    def code(self) -> Any:
        """The function or class."""
        return self.owner or _code_of(self.function)

    def source(self) -> str:
        """Return the source of the function or class."""
        return source_of(self.code)

    @cached_property
    def reader(self) -> TypeAdapter[Any]:
        """Reads the arguments of a call into the function's positional and named arguments.

        Raises:
            UsageError: a parameter has a type that arguments in JSON cannot have.
        """
        function, signature = self.function, inspect.signature(self.function)
        static = self.owner and isinstance(inspect.getattr_static(self.owner, function.__name__), staticmethod)
        parameters = list(signature.parameters.values())[1 if self.owner and not static else 0 :]
        if isinstance(function, partial):
            parameters = [item for item in parameters if item.name not in function.keywords]
        named_code = _code_of(function)
        if (only := self.only) is not None:
            needed = [item.name for item in parameters if item.default is item.empty and item.kind not in SEVERAL]
            if missing := sorted(set(needed) - only):
                raise UsageError(
                    f"{named_code.__qualname__} cannot be a tool: only its framework can fill {missing[0]!r}; give a "
                    "function that takes only what the model sends"
                )
            parameters = [item for item in parameters if item.kind in SEVERAL or item.name in only]

        def arguments(*positional: Any, **named: Any) -> Any:
            return positional, named

        arguments.__module__, arguments.__qualname__ = named_code.__module__, named_code.__qualname__
        arguments.__annotations__ = {
            item.name: item.annotation for item in parameters if item.annotation is not item.empty
        }
        arguments.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # as inspect says
        try:
            return TypeAdapter(cast("Any", arguments))
        except (PydanticUserError, NameError) as error:
            reason = error.message if isinstance(error, PydanticUserError) else error
            raise UsageError(f"{named_code.__qualname__} cannot be a tool: {reason}") from error

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, with the descriptions in the docstring.

        Raises:
            UsageError: it cannot be made, or calls cannot give the arguments by name.
        """
        name = _code_of(self.function).__name__
        try:
            schema = self.reader.json_schema(schema_generator=_Schema)
        except PydanticUserError as error:
            raise UsageError(f"{name} cannot be a tool: {error.message}") from error
        if schema.get("type") != "object":
            raise UsageError(f"{name} cannot be a tool: calls give arguments by name, and some are positional-only")
        properties: dict[str, dict[str, Any]] = schema.setdefault("properties", {})
        for parameter, text in _documentation(self.function)[1].items():
            if parameter in properties:
                properties[parameter].setdefault("description", text)
        return schema

    def make_owner(self, state: Json) -> Any:
        """Make the object of a trial; None for a function.

        Args:
            state: the first state of the task's world, for classes that take a ``state``.
        """
        if self.owner is None:
            return None
        takes_state = STATE in inspect.signature(self.owner).parameters
        return self.owner(**{STATE: state}) if takes_state else self.owner()

    async def end_trial(self, owner: Any) -> None:
        """Do nothing; a trial's object is dropped with the trial."""

    async def end_run(self) -> None:
        """Do nothing; trials share only the code."""

    async def call(self, arguments: Mapping[str, Json], owner: Any, run: Way) -> Json:
        """Call the function, and return its result as JSON.

        Args:
            owner: the trial's object; None for a function.
            run: calls it.

        Raises:
            ApiRefused: the arguments do not fit, or the function refuses them.
            Exception: any other exception of the function.
        """
        try:
            positional, named = self.reader.validate_python(ArgsKwargs((), dict(arguments)))
        except ValidationError as error:
            raise ApiRefused(f"Invalid arguments: {_problems(error)}") from error
        function = self.function if owner is None else getattr(owner, self.function.__name__)
        return to_jsonable_python(await run(partial(function, *positional, **named)), fallback=str)


def function_tools(given: Callable[..., Any]) -> Iterator[tuple[Api, ToolBody]]:
    """Yield the Api of a function, or of each public method of a class, with the answers to its calls.

    Raises:
        UsageError: a parameter has a type that arguments in JSON cannot have.
    """
    if not isinstance(given, type):
        body = ToolBody(given)
        yield _api(body, FUNCTIONS), body
        return
    for name, method in inspect.getmembers(given, inspect.isfunction):
        if not name.startswith("_") and name != STATE:
            body = ToolBody(method, given)
            yield _api(body, given.__qualname__), body


def _api(body: ToolBody, category: str) -> Api:
    description, _ = _documentation(body.function)
    return tool_api(_code_of(body.function).__name__, description, body.schema(), category)


def _code_of(function: Any) -> Any:
    """Return the code that a tool is named after, such as the function in a ``partial``, or the class of an object."""
    while isinstance(function, partial):
        function = function.func
    return function if hasattr(function, "__qualname__") else type(function)


def tool_api(name: str, description: str, schema: dict[str, Any], category: str = FUNCTIONS) -> Api:
    """Return the Api of a tool with a JSON Schema of its arguments."""
    required = schema.get("required", [])
    parameters = {parameter: _parameter(parameter, found) for parameter, found in schema["properties"].items()}
    return Api(
        category=category,
        tool_name="",
        api_name=name,
        description=description,
        required_parameters=tuple(parameters[parameter] for parameter in required if parameter in parameters),
        optional_parameters=tuple(found for parameter, found in parameters.items() if parameter not in required),
        json_schema=schema,
    )


class _Schema(GenerateJsonSchema):
    """Schemas without titles, which repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - as the base class has it
        return False


def _parameter(name: str, schema: Mapping[str, Any]) -> Parameter:
    kind = schema.get("type")
    return Parameter(
        name=name,
        type=WORDS.get(kind, "STRING") if isinstance(kind, str) else "STRING",
        description=schema.get("description", ""),
        default=schema.get("default"),
        enum=tuple(schema.get("enum", ())),
    )


def _documentation(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return a docstring's description, and the descriptions of parameters below ``Args:``."""
    description: list[str] = []
    parameters: dict[str, str] = {}
    section, last, depth = "", "", 0
    text = inspect.getdoc(_code_of(function)) or inspect.getdoc(getattr(function, "__call__", None)) or ""  # noqa: B004
    for line in text[:MAX_DOCUMENT].splitlines():
        title = SECTION.fullmatch(line)
        entry = ENTRY.fullmatch(line)
        if title:
            section, last = title[1], ""
        elif not section:
            description.append(line)
        elif section in ("Args", "Arguments", "Parameters") and line.strip():
            if entry and (not last or _indent(line) <= depth):
                last, depth = entry[1], _indent(line)
                parameters[last] = entry[2]
            elif last:
                parameters[last] = f"{parameters[last]} {line.strip()}".strip()
    return "\n".join(description).strip(), parameters


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in found[:5])


DEFINED = ("parameters", "input_schema", "inputSchema")
"""Keys of the schema in definitions of OpenAI, Anthropic and MCP."""

FUNCTION_HOLDERS = ("function", "entrypoint", "func", "coroutine", "real_fn", "forward", "_func", "_run")
"""Attributes of the function in Pydantic AI, Agno, most others, LlamaIndex, smolagents, AutoGen and LangChain."""


def _of_model(found: Any) -> Any:
    return found.model_json_schema() if hasattr(found, "model_json_schema") else found


def _of_inputs(found: Mapping[str, Any]) -> Any:
    required = [name for name, part in found.items() if not part.get("nullable")]
    return {"type": "object", "properties": dict(found), "required": required}


SCHEMAS: Mapping[str, Callable[[Any], Any]] = {
    "params_json_schema": dict,  # OpenAI Agents SDK
    "function_schema": lambda found: found.json_schema,  # Pydantic AI
    "tool_call_schema": _of_model,  # LangChain
    "input_schema": dict,  # Anthropic
    "args_schema": _of_model,  # CrewAI
    "inputs": _of_inputs,  # smolagents
    "metadata": lambda found: hasattr(found, "get_parameters_dict") and found.get_parameters_dict(),  # LlamaIndex
    "schema": lambda found: isinstance(found, dict) and found["parameters"],  # AutoGen
    "parameters": lambda found: callable(found) and found(),  # Agent Framework
}
"""Attribute of a framework's tool -> its schema of the arguments; without such an attribute, the function says it."""


def is_one_tool(given: Any) -> bool:
    """Return whether this is one tool, or one toolkit, and not a list; some frameworks' tools can be iterated over."""
    return (
        isinstance(given, str | Mapping) or callable(given) or _name_holder(given) is not None or bool(_members(given))
    )


def object_tools(given: Any, where: str) -> Iterator[tuple[Api, ToolBody | None]]:
    """Yield the tools of a framework's tool or toolkit, or of a definition as vendors' APIs take it.

    The simulator answers for a definition. Nothing is yielded for other objects.

    Raises:
        UsageError: a tool cannot be used without its framework, or a definition is malformed.
    """
    if isinstance(given, Mapping):
        inner = given.get("function", given)
        if not (isinstance(inner, Mapping) and isinstance(inner.get("name"), str)):
            raise UsageError(f"{where}: {given!r:.60} is not the definition of a tool: it has no function with a name")
        schema: Any = next((inner[key] for key in DEFINED if inner.get(key)), {})
        yield tool_api(inner["name"], inner.get("description") or "", _usable(schema, inner["name"], where)), None
        return
    for member in _members(given):
        yield from object_tools(member, where)
    if (named := _name_holder(given)) is None:
        return
    attributes = ((read, getattr(given, key, None)) for key, read in SCHEMAS.items())
    schema = next((made for read, found in attributes if found is not None and (made := read(found))), None)
    function = next((found for key in FUNCTION_HOLDERS if callable(found := getattr(given, key, None))), None)
    if function is None and callable(getattr(given, "on_invoke_tool", None)):
        function = _AgentsTool(given)
    if function is not None:
        body = ToolBody(function, only=None if schema is None else frozenset(schema.get("properties", ())))
        body.reader  # noqa: B018 - refuses functions that need a framework
        found = body.schema() if schema is None else _usable(schema, named.name, where)
        yield tool_api(named.name, named.description or "", found), body


def _name_holder(given: Any) -> Any:
    """Return the object with the name and the description of a tool, or None if it is not a tool."""
    for found in (given, getattr(given, "metadata", None)):  # LlamaIndex's are in its metadata
        if (
            not isinstance(given, type)
            and isinstance(getattr(found, "name", None), str)
            and hasattr(found, "description")
        ):
            return found
    return None


def _members(given: Any) -> list[Any]:
    """Return the tools of a toolkit of Agno or LangChain."""
    functions = getattr(given, "functions", None)
    if isinstance(functions, Mapping):
        return list(functions.values())
    return (
        list(given.get_tools()) if callable(getattr(given, "get_tools", None)) and not isinstance(given, type) else []
    )


def _usable(schema: Any, name: str, where: str) -> dict[str, Any]:
    try:
        JsonSchema(schema)
    except UnusableSchema as error:
        raise UsageError(f"{where}: the schema of {name} cannot be used: {error}") from error
    return {"type": "object", "properties": {}, **schema}


class _AgentsTool(NamedTuple):
    """The function of a tool of OpenAI's Agents SDK, which does not expose its own."""

    tool: Any

    async def __call__(self, **arguments: Any) -> Any:
        text = json.dumps(arguments)
        make_context = sys.modules["agents.tool_context"].ToolContext
        context = make_context(None, tool_name=self.tool.name, tool_call_id="call", tool_arguments=text)
        return await self.tool.on_invoke_tool(context, text)
