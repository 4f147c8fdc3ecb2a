"""Tasks of a dataset, the Apis that they need, and the tools that an agent is offered for them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

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


class GoldCall(Record):
    """A call that solves (part of) a query; ``arguments`` is None if the dataset names only the Api."""

    api: ApiRef
    arguments: dict[str, Json] | None = None


class UserCall(GoldCall):
    """A call of one of the user's own tools: a scripted user makes it when the agent's answer names the tool.

    Attributes:
        after: how many of the expected calls come before it.
    """

    after: int = 0


class Expected(SparseRecord):
    """Expectations of a task in addition to its facts, calls and final state. It is solved if all are met.

    Attributes:
        ways: other series of calls that also solve the task.
        in_order: whether the calls are made in the given order; others may stand between them.
        only: whether no other calls are made.
        never: tools that must not be called.
        most_calls, most_requests, most_tokens, most_seconds: the limits of the trial: calls of tools, requests to the
            model, tokens of all of them, and wall time.
        checks: the names of functions that look at the trial.
        criteria: texts that a model finds true of the trial or not.
        tests: further expectations, each with its own name.
    """

    ways: tuple[tuple[GoldCall, ...], ...] = ()
    in_order: bool = False
    only: bool = False
    never: tuple[ApiRef, ...] = ()
    most_calls: int | None = None
    most_requests: int | None = None
    most_tokens: int | None = None
    most_seconds: float | None = None
    checks: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    tests: tuple[TaskTest, ...] = ()

    sparse = ("criteria", "tests")

    @property
    def all_checks(self) -> tuple[str, ...]:
        """The names of its checks, including the checks of its tests."""
        return tuple(dict.fromkeys([*self.checks, *(name for test in self.tests for name in test.expected.checks)]))

    @property
    def all_criteria(self) -> tuple[str, ...]:
        """Its criteria, including the criteria of its tests."""
        return tuple(dict.fromkeys([*self.criteria, *(text for test in self.tests for text in test.expected.criteria)]))


class TaskTest(SparseRecord):
    """Expectations of a task under one name.

    Attributes:
        facts: texts that the answer must say.
        calls, states_calls, final_state: like a query's.
        expected: all else; it has no tests.
        turn: the number of the turn, from 1, that is tested; 0 for the whole trial.
    """

    name: str
    facts: tuple[str, ...] = ()
    calls: tuple[GoldCall, ...] = ()
    states_calls: bool = False
    final_state: Json = None
    expected: Expected
    turn: int = 0

    sparse = ("turn",)

    @property
    def expects_something(self) -> bool:
        """Return whether a trial can fail it. Options for comparing calls do not count if no calls are stated."""
        only_adds = {"in_order": False, "only": False}
        stated = self.expected.model_copy(update=only_adds)
        return bool(self.facts or self.states_calls or self.final_state is not None or stated != Expected())


class UserTurn(Record):
    """A message of the user in a task of several turns.

    Attributes:
        text: the message.
        calls: how many of the query's expected calls, in their order, are this turn's.
        facts: texts that a right answer contains; scripted models say a fact if the request shows it.
    """

    text: str
    calls: int = 0
    facts: tuple[str, ...] = ()


UserKind = Literal["scripted", "model", "caller"]


def _cues(given: Any) -> Any:
    """Return reactions by text, as the numbers of answers are numbers in Python and YAML, and texts in JSON."""
    if not isinstance(given, dict):
        return given
    for cue in given:
        if not isinstance(cue, str) and (type(cue) is not int or cue < 1):
            raise PydanticCustomError("says", "{cue} is not the number of an answer, from 1", {"cue": repr(cue)})
    return {str(cue): text for cue, text in given.items()}


class User(SparseRecord):
    """A user who answers the agent, which learns the goal, as the first message, and the facts that it asks for.

    Attributes:
        goal: the user's wish, in the user's words.
        knows: name -> a fact that the user gives when the agent asks for it.
        says: a word of the agent's answer, or the number of an answer -> the user's reply to it, given once. The reply
            to the number comes first if both apply.
        kind: ``scripted``, which follows fixed rules; ``model``, which asks the model of ``--user-model``; or
            ``caller``, the program that runs the trial, such as a test with ``trialbed.conversation``.
        instructions: further instructions for the model that plays the user.
        most_messages: after the answer to as many, the conversation ends.
    """

    goal: Annotated[str, Field(min_length=1, pattern=r"\S")]
    knows: dict[str, Json] = Field(default={})
    says: Annotated[dict[str, str], BeforeValidator(_cues)] = Field(default={})
    kind: UserKind = "scripted"
    instructions: str = ""
    most_messages: Annotated[int, Field(ge=1, strict=True)] = 10

    sparse = ("instructions",)

    def __init__(self, goal: str | None = None, /, **values: Any) -> None:
        super().__init__(**({} if goal is None else {"goal": goal}), **values)

    @model_validator(mode="after")
    def _check(self) -> User:
        if (problem := next(self._problems(), None)) is not None:
            raise PydanticCustomError("user", "{problem}", {"problem": problem})
        return self

    def _problems(self) -> Iterator[str]:
        """Yield the facts and replies that could never be said, in words."""
        for name, fact in self.knows.items():
            if not re.search(r"[^\W_]", name):
                yield f"knows: {name!r} is not the name of a fact: it has no letters"
            try:
                json.dumps(fact, allow_nan=False)
            except ValueError:
                yield f"knows.{name}: {fact!r:.60} cannot be said: JSON has no such number"
        for cue, text in self.says.items():
            if not cue.strip():
                yield "says: give each reply a word of the agent's answer, or the number of an answer"
            if not text.strip():
                yield f"says.{cue}: the reply is blank"
            if re.fullmatch(r"-?\d+", cue) and not 0 < int(cue[:9]) < self.most_messages:
                most = self.most_messages
                yield f"says.{cue:.60}: with most_messages {most}, the user replies to the answers 1 to {most - 1}"


class Query(SparseRecord):
    """One task with its text, the Apis on offer, the expected calls, and the facts of a right answer.

    Attributes:
        query_id: the dataset's id; unique within the dataset.
        apis: the Apis on offer, expected ones and distractors, each identity once.
        gold_calls: the calls that solve the query, in order; empty if no tool is needed.
        states_calls: whether the query says which calls solve it. If not, no call is right or wrong.
        reference_answer: a right answer in words, if the dataset has one.
        reference_facts: texts that a right answer contains, each checkable by a rule.
        initial_state: the first state of the Apis' world; None for the simulator's own.
        final_state: the state of the Apis' world after a right solution; None if they change nothing.
        expected: further expectations, which then decide, with the facts, calls and state, whether the task is solved;
            None leaves that to the judge.
        allow_forced_calls: whether calls count that the agent's request forced with its ``tool_choice``.
        tags: the user's words for groups of queries.
        turns: the messages of a user who writes several, beginning with the text; empty for one message.
        policy: written rules that the agent gets with its instructions; may be empty.
        user: a user who answers the agent; the only turn has the goal, the expected calls and the facts then.
        user_tools: tools of the user's own, which the agent does not have. Functions of the dataset answer their calls.
        user_calls: the calls of them that solve the query, in order.
    """

    query_id: int | str
    text: str
    apis: tuple[Api, ...]
    gold_calls: tuple[GoldCall, ...] = ()
    states_calls: bool = True
    reference_answer: str | None = None
    reference_facts: tuple[str, ...] = ()
    initial_state: Json = None
    final_state: Json = None
    expected: Expected | None = None
    allow_forced_calls: bool = False
    tags: tuple[str, ...] = ()
    turns: tuple[UserTurn, ...] = ()
    policy: str = ""
    user: User | None = None
    user_tools: tuple[Api, ...] = ()
    user_calls: tuple[UserCall, ...] = ()

    sparse = (
        *("states_calls", "expected", "allow_forced_calls", "tags", "turns", "policy", "user"),
        *("user_tools", "user_calls"),
    )

    def identity_json(self) -> str:
        """Return it as JSON, as the digests of datasets cover it."""
        # Digests stay the same as before queries could have these.
        left_out = {name for name in ("initial_state", "final_state") if getattr(self, name) is None}
        return self.model_dump_json(exclude=left_out)

    @property
    def own_tools(self) -> frozenset[ApiRef]:
        """The expected and forbidden tools that are the agent's own, which the task names but does not offer."""
        expected = self.expected or Expected()
        parts = (expected, *(test.expected for test in expected.tests))
        calls = [*self.gold_calls, *(call for test in expected.tests for call in test.calls)]
        calls += [call for part in parts for way in part.ways for call in way]
        named = {*(call.api for call in calls), *(api for part in parts for api in part.never)}
        return frozenset(api for api in named if not (api.category or api.tool_name)).difference(
            api.ref for api in self.apis
        )

    @property
    def gold_apis(self) -> tuple[ApiRef, ...]:
        """The expected Apis in order, each once."""
        return tuple(dict.fromkeys(call.api for call in self.gold_calls))

    @property
    def impossible_call(self) -> str:
        """Explain the first expected call with argument names that do not fit its API; empty if all of them fit."""
        for call in self.gold_calls:
            api = next((api for api in self.apis if api.ref == call.api), None)
            if call.arguments is None or api is None or api.json_schema is not None:
                continue
            given, schema = call.arguments, api.parameters_schema()
            problems = [f"has {name!r}, which the tool lacks" for name in given if name not in schema["properties"]]
            problems += [f"lacks {name!r}, which the tool requires" for name in schema["required"] if name not in given]
            if problems:
                return f"task {self.query_id}: its expected call of {api.api_name} {problems[0]}: no agent can be right"
        return ""


class ToolSpec(Record):
    """An Api for an agent, with a model-safe name, a description, and the JSON Schema of the arguments.

    Attributes:
        topped_up: whether it was added because a model chose too few tools. The record as JSON lacks it, to hide it
            from agents.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    api: ApiRef
    topped_up: bool = Field(default=False, exclude=True)


class ScriptedCall(Record):
    """A call of a tool by its name, as a task expects it and a scripted model plays it, with all of its arguments."""

    name: str
    arguments: dict[str, Json]
