"""Tasks and the queries that they are."""

from __future__ import annotations

import json
import re
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.records import Api, ApiRef, GoldCall, Query, ToolSpec
from trialbed.tasks import Expect, Task, TaskDataset, call, compile_tasks, write_queries
from trialbed.tools import Tool
from trialbed_scripted import call as played

STARS = Api(category="Data", tool_name="Stars", api_name="by_id")


def find(city: str) -> str:
    """Find a city."""
    return city


def test_a_task_is_a_query() -> None:
    task = Task("Where?", tools=[find, STARS], expect="here", calls=[call("find", city="Oslo"), "Stars_by_id"], id="a")
    (query,), bodies, _ = compile_tasks([task])
    found = ApiRef(category="functions", tool_name="", api_name="find")
    assert (query.query_id, query.text, query.reference_facts) == ("a", "Where?", ("here",))
    assert [api.ref for api in query.apis] == [found, STARS.ref]
    assert query.gold_calls == (GoldCall(api=found, arguments={"city": "Oslo"}), GoldCall(api=STARS.ref))
    assert set(bodies) == {found}


def test_a_call_of_a_scripted_model_is_an_expected_one() -> None:
    ((query,), *_) = compile_tasks([Task("?", tools=[find], calls=[played("find", city="Oslo")])])
    assert query.gold_calls[0].arguments == {"city": "Oslo"}
    with pytest.raises(UsageError, match="task 1: calls: the arguments '\\[' are not a JSON object"):
        compile_tasks([Task("?", tools=[find], calls=[played("find", "[")])])


@for_each(
    ("task", "says"),
    [
        (Task("?", tools=[find, find]), "task 1: tools: 'find' is given 2 times; give each tool once"),
        (Task("?", tools=[STARS, STARS], id="a"), "task a: tools: 'Stars_by_id' is given 2 times"),
        (
            Task("?", tools=[find], calls=[call("find", city=3)]),
            "task 1: calls: find does not take the arguments {'city': 3}: city: ",
        ),
        (Task("?", tools=[find], calls=[call("find")]), "task 1: calls: find does not take the arguments {}: "),
    ],
)
def test_a_task_that_cannot_be_solved_is_refused_with_its_place(task: Task, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        TaskDataset([task]).check_calls()


def test_a_tool_of_another_program_keeps_its_schema() -> None:
    schema = {"type": "object", "properties": {"x": {"oneOf": [{"type": "string"}, {"type": "null"}]}}}
    spec = ToolSpec(name="any", description="d", parameters=schema, api=STARS.ref)
    for tool in (spec, Tool(spec, "http://127.0.0.1:9/virtual")):
        (query,), *_ = compile_tasks([Task("?", tools=[tool], calls=["by_id"])])
        assert query.apis[0].parameters_schema() == schema


def test_one_function_may_be_a_tool_of_several_tasks_and_two_of_one_name_may_not() -> None:
    def other() -> Any:
        def find(country: str) -> str:
            """Another."""
            return country

        return find

    queries, *_ = compile_tasks([Task("?", tools=[find]), Task("?", tools=find)])
    assert queries[0].apis == queries[1].apis
    with pytest.raises(UsageError, match="task 2: two different tools are called 'find'"):
        compile_tasks([Task("?", tools=[find]), Task("?", tools=[other()])])


def expecting(**given: Any) -> Expect:
    """Expectations of any kinds."""
    return Expect(**given)


@for_each(
    ("tasks", "says"),
    [
        ([], "tasks: the list is empty"),
        ([3], "tasks: 3 is not a task"),
        ([Task("a", id=2), Task("b")], "task 2: another task has the same id; give task number 2 its own"),
        ([Query(query_id=1, text="?", apis=(), gold_calls=(GoldCall(api=STARS.ref),))], "Stars_by_id is not among its"),
        ([Task("?", expect=Expect(12.5))], r"task 1: facts: 12.5 is not a text that is not blank, or a list"),
        ([Task("?", expect=Expect(facts=[""]))], r"task 1: facts: \[''\] is not a text that is not blank"),
        ([Task("?", expect=["here", " "])], r"task 1: expect: \['here', ' '\] is not a text that is not blank"),
        (
            [Task("?", expect=expecting(tests={"a": Expect("")}))],
            r"task 1: tests: a: facts: '' is not a text that is not blank",
        ),
        ([Task("?", tools=[find], expect=Expect(never="find"))], "never: 'find' is not a list of names"),
        ([Task("?", expect=Expect(check=partial(bool)))], "check: functools.partial.* has no name"),
        ([Task("?", expect=expecting(criteria=3))], "task 1: criteria: 3 is not a text that is not blank"),
        ([Task("?", expect=expecting(criteria=None))], "criteria: None is not a text"),
        ([Task("?", expect=expecting(never=3))], "task 1: never: 3 is not a list of names"),
        ([Task("?", expect=expecting(tests=[Expect("a")]))], "task 1: tests: .* is not a dictionary: {name: Expect"),
        ([Task("?", expect=expecting(tests={"a": "b"}))], "task 1: tests: {'a': 'b'} is not a dictionary"),
        ([Task("?", expect=expecting(tests={3: Expect("b")}))], "task 1: tests: {3: .* is not a dictionary"),
        (
            [Task("?", expect=expecting(tests={"a": expecting(most_calls="x")}))],
            "task 1: tests: a: most_calls: 'x' is not a number from 0 on",
        ),
        ([Task("?", expect=expecting(tests={"a": Expect()}))], "task 1: tests: a: it expects nothing"),
        ([Task("?", tools=["find"])], "task 1: tools: there is no tool 'find'"),
        ([Task("?", tools=type("Empty", (), {}))], "task 1: Empty has no public method"),
        (
            [Task("?", tools=[find], calls=["fnid"], id="x")],
            r"task x: calls: the task has no tool 'fnid'; did you mean 'find'\?",
        ),
    ],
)
def test_what_is_wrong_is_named(tasks: list[Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        compile_tasks(tasks)


def test_queries_are_kept_in_a_file_that_their_content_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    queries, *_ = compile_tasks([Task("Where? “here”", tools=[find]), Task("And there?", tools=[find])])
    path = write_queries(queries, "mine")
    content = ", ".join(query.model_dump_json() for query in queries)
    assert path.name == f"mine-{sha256(content.encode()).hexdigest()[:12]}.json"
    assert path == write_queries(queries, "mine")
    assert path.parent == tmp_path / "state" / "tasks"
    assert list(path.parent.iterdir()) == [path]
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["name"] == "mine"
    assert tuple(map(Query.model_validate, document["queries"])) == queries
    with pytest.raises(UsageError, match=r"name: '\.\./x' cannot name"):
        write_queries(queries, "../x")
