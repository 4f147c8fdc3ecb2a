"""Tasks as users write them in Python, and the queries that they are."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from inspect import iscoroutinefunction
from itertools import cycle, islice
from typing import Any, NamedTuple, TypeVar

from trialbed.errors import UsageError
from trialbed.records import (
    Api,
    ApiRef,
    Expected,
    GoldCall,
    Json,
    Query,
    ScriptedCall,
    TaskTest,
    ToolSpec,
    User,
    UserTurn,
)
from trialbed.suggestions import closest, did_you_mean
from trialbed.tasks._expect import LIMITS, Calls, Check, Expect, Turn, check_expect, check_given, check_turn
from trialbed.tasks._functions import STATE, AnsweredApi, ApiBody, function_tools, is_one_tool, object_tools
from trialbed.texts import whole_texts
from trialbed.tool_calls import Accepted, any_value, matcher_problem, named_checks

Tool = Callable[..., Any] | Api | AnsweredApi | ToolSpec | str
Tools = Iterable[Tool] | Callable[..., Any]

MARK = "__trialbed_tool__"
"""The attribute of functions and classes that ``tool`` marks."""

T = TypeVar("T")


def tool(given: T) -> T:
    """Mark a function, or a class with public methods as tools, for the tasks of its file.

    Tasks of the file that do not name tools have all marked tools, and a task may name a tool instead of having it.
    """
    # Tools of frameworks may refuse attributes that they do not know.
    (type if isinstance(given, type) else object).__setattr__(given, MARK, True)
    return given


def call(tool: str, /, **arguments: Json) -> ScriptedCall:
    """Return a call of a tool with these arguments, such as ``call("find", id=7)``."""
    return ScriptedCall(name=tool, arguments=arguments)


@dataclass(frozen=True)
class Task:
    """A task with its text, the tools that may be used, and the expected answer, calls and state.

    Attributes:
        text: the task in the words that agents get.
        tools: functions that answer the calls; a class with the tools as public methods, instantiated for each trial;
            ``Api``, which the simulator answers for; or the ``Tool`` of another program. In a file of tasks, also the
            names of the file's tools; None for all of these.
        expect: a fact, or facts, that a right answer must hold; or an ``Expect``, which says all that is expected.
        calls: the calls that solve the task, in order: ``call("find", id=7)``; a tool's name if any arguments will do;
            or a ``GoldCall``. Scripted models play these. Empty: a right agent calls nothing. None: the task says
            nothing about calls, and they are not scored. A task without tools names the agent's own.
        answer: a right answer in words, for judges that read one.
        state: the first state of the world that the tools act on. A class of tools gets it as ``state``, if it has a
            parameter of this name.
        final_state: the state after a right solution: the ``state()`` of a class of tools.
        id: unique among the tasks of a run; its place, counted from 1, if None.
        allow_forced_calls: whether calls count that the agent's request forced with its ``tool_choice``, as structured
            output by tools does.
        tags: names of groups that it belongs to, for selecting tasks and grouping figures.
        turns: the messages of a user who writes several, in place of the text: each a text, or a ``Turn`` with its own
            expectations. The agent gets the next one when it has answered.
        lengths: numbers of messages, such as ``[3, 10, 30]``. The task is repeated for each number, with the tag ``10
            turns`` and small talk before the last message, which puts its facts further back.
        policy: written rules that the agent gets with its instructions.
        user: a user who answers the agent, in place of the text and of turns. The first message is the goal; facts may
            be said in any answer.
    """

    text: str = ""
    _: KW_ONLY
    tools: Tools | None = None
    expect: str | Sequence[str] | Expect = ()
    calls: Calls | None = None
    answer: str | None = None
    state: Json = None
    final_state: Json = None
    id: int | str | None = None
    allow_forced_calls: bool = False
    tags: str | Sequence[str] = ()
    turns: Sequence[str | Turn] = ()
    lengths: Sequence[int] = ()
    policy: str = ""
    user: User | None = None


class CompiledTasks(NamedTuple):
    """The queries of tasks, and the code of this process that they need.

    Attributes:
        functions: the Apis that functions answer.
        checks: name -> a function that looks at the trials of the queries that name it.
    """

    queries: Sequence[Query]
    functions: dict[ApiRef, ApiBody]
    checks: dict[str, Check]


def compile_tasks(tasks: Iterable[Task | Query], tools: Iterable[Tool] = ()) -> CompiledTasks:
    """Return the queries of tasks, with the functions that they need.

    Args:
        tools: the tools that tasks may name; tasks that name no tools have all of them.

    Raises:
        UsageError: a value is not a task, a task is invalid, or two functions have the same name; says which.
    """
    compiled = CompiledTasks((), {}, {})
    shared = [api for given in tools for api in _apis(given, {}, compiled, "tools")]
    named: dict[str, Api] = {}
    for name, api in [*((api.api_name, api) for api in shared), *((api.ref.title, api) for api in shared)]:
        named.setdefault(name, api)
    made = ((task, _query(task, place, named, compiled)) for place, task in enumerate(tasks, 1))
    queries = tuple(_check_each(one for task, query in made for one in _of_lengths(query, task)))
    if not queries:
        raise UsageError("tasks: the list is empty")
    return compiled._replace(queries=queries)


def _check_each(queries: Iterable[Query]) -> Iterator[Query]:
    """Yield queries after checking that their ids are unique and that they have the Apis of their expected calls."""
    seen: set[str] = set()
    for place, query in enumerate(queries, 1):
        if str(query.query_id) in seen:
            raise UsageError(f"task {query.query_id}: another task has the same id; give task number {place} its own")
        seen.add(str(query.query_id))
        offered = {*(api.ref for api in query.apis), *query.own_tools}
        missing = next((call.api for call in query.gold_calls if call.api not in offered), None)
        if missing is not None:
            raise UsageError(f"task {query.query_id}: calls: {missing.title} is not among its tools")
        try:
            query.model_dump_json()
        except ValueError:  # a text in it has half of a character
            query = Query.model_validate(whole_texts(query.model_dump()))
        yield query


def _query(task: Task | Query, place: int, named: Mapping[str, Api], compiled: CompiledTasks) -> Query:
    if isinstance(task, Query):
        return task
    if not isinstance(task, Task):
        raise UsageError(f"tasks: {task!r:.60} is not a task; write Task({str(task)[:40]!r}, …)")
    where = f"task {place if task.id is None else task.id}"
    check_given(task, where)
    if task.tools is None:
        apis = list({api.ref: api for api in named.values()}.values())
    else:
        given: Any = [task.tools] if is_one_tool(task.tools) else task.tools
        apis = [api for tool in given for api in _apis(tool, named, compiled, where)]
    for title, times in Counter(api.ref.title for api in apis).items():
        if times > 1:
            raise UsageError(f"{where}: tools: {title!r} is given {times} times; give each tool once")
    whole = task.expect if isinstance(task.expect, Expect) else None
    if whole is not None and not (task.calls is None and task.final_state is None):
        raise UsageError(f"{where}: give calls and final_state to Expect(calls=…, state=…), or use no Expect")
    expect = whole or Expect(task.expect, calls=task.calls, state=task.final_state)  # type: ignore[arg-type] # facts
    check_expect(expect, where)
    gold_calls = tuple(_gold_call(item, apis, where, compiled=compiled) for item in expect.calls or ())
    expected: Expected | None = _expectations(expect, apis, where, compiled, gold_calls)
    if whole is None and expected == Expected() and not task.user:  # it leaves the verdict to the judge
        expected = None
    query = Query(
        query_id=place if task.id is None else task.id,
        text=task.user.goal if task.user else task.text,
        apis=tuple(apis),
        gold_calls=gold_calls,
        states_calls=expect.calls is not None,
        reference_answer=task.answer,
        reference_facts=_texts(expect.facts),
        initial_state=task.state,
        final_state=expect.state,
        expected=expected,
        allow_forced_calls=task.allow_forced_calls,
        tags=_texts(task.tags),
        policy=task.policy,
        user=task.user,
    )
    if task.user:
        only = UserTurn(text=query.text, calls=len(gold_calls), facts=query.reference_facts)
        return query.model_copy(update={"turns": (only,)})
    return _with_turns(query, task.turns, where, compiled) if task.turns else query


def _with_turns(query: Query, given: Sequence[str | Turn], where: str, compiled: CompiledTasks) -> Query:
    """Return a query with the messages of its user, and the expectations of the agent's work on each."""
    tests = [_turn_test(turn, number, query.apis, where, compiled) for number, turn in enumerate(given, 1)]
    turns = [
        UserTurn(text=turn if isinstance(turn, str) else turn.text, calls=len(test.calls), facts=test.facts)
        for turn, test in zip(given, tests, strict=True)
    ]
    calls = tuple(call for test in tests for call in test.calls)
    if calls and query.states_calls:
        raise UsageError(f"{where}: calls: give them to the turns or to the task, not to both")
    # Scripted models do at the end what the whole conversation expects.
    own = {"calls": turns[-1].calls + len(query.gold_calls), "facts": (*turns[-1].facts, *query.reference_facts)}
    turns[-1] = turns[-1].model_copy(update=own)
    expected = query.expected
    if stated := [test for test in tests if test.expects_something]:
        whole = expected or Expected()
        expected = whole.model_copy(update={"tests": (*stated, *whole.tests)})
    of_calls: dict[str, Any] = {"gold_calls": calls, "states_calls": True}
    return query.model_copy(
        update={
            "text": turns[0].text,
            "turns": tuple(turns),
            "expected": expected,
            **(of_calls if any(test.states_calls for test in tests) and not query.gold_calls else {}),
        }
    )


PAUSES = ("The phone rings", "Someone is at the door", "My tea is ready", "It started to rain", "My screen froze")
WAITS = ("just a moment, please.", "I'll be right back.", "please stay with me.", "we'll go on soon.", "bear with me.")
SMALL_TALK = [f"{pause}, {wait}" for wait in WAITS for pause in PAUSES]
"""Messages that ask for nothing. They have no numbers, which could be taken for arguments."""


def _of_lengths(query: Query, task: Task | Query) -> Iterator[Query]:
    """Yield the query for each number of messages in the task, or unchanged if the task has no numbers."""
    lengths = task.lengths if isinstance(task, Task) else ()
    if not lengths:
        yield query
    last = len(query.turns)
    for number in lengths:
        talk = [UserTurn(text=text) for text in islice(cycle(SMALL_TALK), number - last)]
        expected, moved = query.expected, {"turn": number, "name": f"turn {number}"}
        if expected is not None:
            tests = (test.model_copy(update=moved) if test.turn == last else test for test in expected.tests)
            expected = expected.model_copy(update={"tests": tuple(tests)})
        yield query.model_copy(
            update={
                "query_id": f"{query.query_id}-turns-{number}",
                "turns": (*query.turns[:-1], *talk, query.turns[-1]),
                "tags": (*query.tags, f"{number} turns"),
                "expected": expected,
            }
        )


def _turn_test(turn: str | Turn, number: int, apis: Sequence[Api], where: str, compiled: CompiledTasks) -> TaskTest:
    """Return the expectations of the agent's work on one message of the user, which may be empty."""
    given = Turn(turn) if isinstance(turn, str) else turn
    place = f"{where}: turn {number}"
    check_turn(given, place)
    whole = given.expect if isinstance(given.expect, Expect) else None
    if whole is not None and given.calls is not None:
        raise UsageError(f"{place}: give calls to Expect(calls=…), or use no Expect")
    expect = whole or Expect(given.expect, calls=given.calls)  # type: ignore[arg-type] # facts
    if expect.state is not None or expect.most_seconds is not None:
        raise UsageError(
            f"{place}: give the state and the seconds to Task(expect=Expect(…)), because they apply to the whole task"
        )
    return _task_test(f"turn {number}", expect, apis, place, compiled).model_copy(update={"turn": number})


def _expectations(
    expect: Expect, apis: Sequence[Api], where: str, compiled: CompiledTasks, calls: Sequence[GoldCall]
) -> Expected:
    named = [name for call in calls for name in named_checks(call.arguments)]
    ways = tuple(tuple(_gold_call(item, apis, where, "ways") for item in way) for way in expect.ways)
    if ways and expect.calls is None:
        raise UsageError(f"{where}: ways: give one of them as calls, which scripted models play")
    checks = [expect.check] if callable(expect.check) else list(expect.check)
    for check in checks:
        name = getattr(check, "__name__", None)
        if name is None:
            raise UsageError(f"{where}: check: {check!r:.60} has no name; write a function")
        if compiled.checks.setdefault(name, check) is not check:
            raise UsageError(f"{where}: two checks are called {name!r}; give one another name")
    return Expected(
        ways=ways,
        never=tuple(_gold_call(name, apis, where, "never").api for name in expect.never),
        **{name: getattr(expect, name) for name in ("in_order", "only", *LIMITS)},
        checks=(*(check.__name__ for check in checks), *named),
        criteria=_texts(expect.criteria),
        tests=tuple(
            _test(name, test, apis, f"{where}: tests: {name}", compiled) for name, test in expect.tests.items()
        ),
    )


def _test(name: str, expect: Expect, apis: Sequence[Api], where: str, compiled: CompiledTasks) -> TaskTest:
    test = _task_test(name, expect, apis, where, compiled)
    if not test.expects_something:
        raise UsageError(f"{where}: it expects nothing; give it facts, calls or another expectation, or leave it out")
    return test


def _task_test(name: str, expect: Expect, apis: Sequence[Api], where: str, compiled: CompiledTasks) -> TaskTest:
    if expect.tests:
        raise UsageError(f"{where}: a test cannot contain tests")
    check_expect(expect, where)
    calls = tuple(_gold_call(item, apis, where, compiled=compiled) for item in expect.calls or ())
    return TaskTest(
        name=name,
        facts=_texts(expect.facts),
        calls=calls,
        states_calls=expect.calls is not None,
        final_state=expect.state,
        expected=_expectations(expect, apis, where, compiled, calls),
    )


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _apis(tool: Any, named: Mapping[str, Api], compiled: CompiledTasks, where: str) -> Iterable[Api]:
    if isinstance(tool, str):
        if tool not in named:
            raise UsageError(f"{where}: tools: there is no tool {tool!r}{did_you_mean(closest(tool, named))}")
        return [named[tool]]
    if isinstance(tool, Api):
        return [tool]
    if isinstance(tool, AnsweredApi):
        _add_body(tool.api, tool.body, compiled, where)
        return [tool.api]
    spec = getattr(tool, "spec", tool)
    if isinstance(spec, ToolSpec):
        return [Api(**spec.api.model_dump(), description=spec.description, json_schema=spec.parameters)]
    found = list(object_tools(tool, where)) or (list(function_tools(tool)) if callable(tool) else None)
    if found is None:
        raise UsageError(
            f"{where}: {tool!r:.60} is not a tool; give a function, a class, a framework's tool with its function, a "
            "definition, an `Api` or a `Tool`"
        )
    for api, body in found:
        if body is not None:
            _add_body(api, body, compiled, where)
    if not found:
        raise UsageError(f"{where}: {tool.__qualname__} has no public method other than {STATE}() that could be a tool")
    return [api for api, _ in found]


def _add_body(api: Api, body: ApiBody, compiled: CompiledTasks, where: str) -> None:
    if compiled.functions.setdefault(api.ref, body) != body:
        raise UsageError(f"{where}: two different tools are called {api.api_name!r}; give one another name")


def _gold_call(
    item: Any, apis: Sequence[Api], where: str, key: str = "calls", compiled: CompiledTasks | None = None
) -> GoldCall:
    if isinstance(item, GoldCall):
        return item
    name, given = (item, None) if isinstance(item, str) else (item.name, item.arguments)
    named = {api.api_name: api.ref for api in reversed(apis)} | {api.ref.title: api.ref for api in reversed(apis)}
    if name not in named and apis:
        close = did_you_mean(closest(name, named))
        raise UsageError(f"{where}: {key}: the task has no tool {name!r}{close}")
    # A task without tools names the agent's own.
    api = named.get(name) or ApiRef(category="", tool_name="", api_name=name)
    if given is None:
        return GoldCall(api=api)
    checks = None if compiled is None else compiled.checks
    try:  # they are text if a scripted model writes them
        arguments = dict(json.loads(given) if isinstance(given, str) else given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: {key}: the arguments {given!r:.60} are not a JSON object") from error
    own = [one.parameters_schema() for one in apis if one.ref == api] if "$" in repr(arguments) else []
    read = partial(_expected_value, where=f"{where}: {key}: {name}", schema=json.dumps(own), checks=checks)
    return GoldCall(api=api, arguments={word: read(value, word) for word, value in arguments.items()})


def _expected_value(value: Any, path: str, where: str, schema: str, checks: dict[str, Check] | None) -> Json:
    """Return an expected argument as JSON.

    Args:
        schema: of the tool, as JSON, if a matcher may be in the arguments.

    Raises:
        UsageError: it is not valid JSON, or its matcher is malformed; names the tool and the argument.
    """
    read = partial(_expected_value, where=where, schema=schema, checks=checks)
    if value is any:
        return any_value()
    if isinstance(value, Mapping):
        inner = {str(name): read(one, f"{path}.{name}") for name, one in value.items()}
        if problem := matcher_problem(inner, schema):
            raise UsageError(f"{where}: {path}: {problem}")
        return inner
    if isinstance(value, list | tuple):
        return [read(one, f"{path}[{place}]") for place, one in enumerate(value)]
    if callable(value) and "[" not in path and checks is not None and not iscoroutinefunction(value):
        tool = where.rpartition(": ")[2]
        name = f"{tool}({path}): {getattr(value, '__name__', 'check')}"
        if name in checks:  # another task's
            name = f"{name} ({len(checks) + 1})"
        checks[name] = partial(_check_argument, tool, path, value)
        return {"$any": None, "check": name}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    hint = "; write regex(r'…', 'an example')" if isinstance(value, re.Pattern) else ""
    if callable(value):
        hint = "; a function that is not async can stand for an argument of calls, not of ways, nor in a list"
    raise UsageError(f"{where}: {path}: {value!r:.80} is not a value of JSON{hint}")


def _check_argument(tool: str, path: str, holds: Callable[[Any], Any], context: Any) -> Accepted:
    """Return the accepted values of an argument among all calls of a tool, made or asked for."""
    own = [call for call in (*context.calls, *context.asked) if tool in (call.api.api_name, call.api.title)]
    found = Accepted()
    for value in (value for call in own for value in (call.arguments, getattr(call, "sent", None))):
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None and value not in found and holds(value):
            found.append(value)
    return found
