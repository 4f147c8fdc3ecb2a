"""Files of tasks: YAML, Python, JSON lines and CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.catalogs import run_queries
from trialbed.contracts import Dataset
from trialbed.errors import DataError, UsageError
from trialbed.preparation import RunOptions, prepare
from trialbed.records import GoldCall, Query
from trialbed_tasks.reading import read_tasks
from trialbed_tools import located

PYTHON = '''
from trialbed import Expect, Task, call, scorer, tool
import beside

@tool
def find_order(id: int) -> dict:
    """Find an order."""
    return beside.ORDERS[id]

@tool
class Till:
    def __init__(self):
        self.paid = []
    def refund(self, id: int) -> str:
        """Refund an order."""
        self.paid.append(id)
        return "done"
    def state(self):
        return self.paid

def polite(trial):
    return "please" in trial.text

@scorer
def words(trial):
    return 1.0

def helper():
    """No tool."""

tasks = [
    Task(
        "What did order 7 cost?",
        expect=Expect("12.5", calls=[call("find_order", id=7)], never=["refund"], check=polite),
    ),
    Task("Refund order 7.", tools=["refund"], expect=Expect(calls=["refund"], state=[7])),
]
'''

YAML = """
tools: desk.py
tasks:
  - query: What did order 7 cost?
    expect:
      facts: "12.5"
      calls: [{find_order: {id: 7}}]
      never: [refund]
      check: polite
  - query: Refund order 7.
    tools: [refund]
    expect:
      calls: [refund]
      state: [7]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a file of tools, and what it imports."""
    (tmp_path / "desk.py").write_text(PYTHON, encoding="utf-8")
    (tmp_path / "beside.py").write_text("ORDERS = {7: {'price': 12.5}}\n", encoding="utf-8")
    before = dict(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - set(before):
        sys.modules.pop(name)


def write(folder: Path, text: str, name: str = "tasks.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def said(dataset: Dataset) -> list[str]:
    return [query.model_dump_json(exclude={"query_id"}) for query in dataset.queries()]


def test_a_python_file_brings_tools_tasks_checks_and_scores(folder: Path) -> None:
    found = read_tasks(folder / "desk.py")
    first, second = found.queries()
    assert found.name == "desk"
    assert [api.api_name for api in first.apis] == ["find_order", "refund"]
    assert [api.api_name for api in second.apis] == ["refund"]
    assert first.expected is not None
    assert (first.reference_facts, first.expected.checks) == (("12.5",), ("polite",))
    assert [api.api_name for api in first.expected.never] == ["refund"]
    assert first.gold_calls == (GoldCall(api=first.apis[0].ref, arguments={"id": 7}),)
    assert second.final_state == [7]
    assert {ref.api_name for ref in found.functions} == {"find_order", "refund"}
    assert (set(found.checks), set(found.scorers)) == ({"polite"}, {"words"})
    assert {path.name for path in found.files} == {"desk.py", "beside.py", "__pycache__"}
    assert all(Query.model_validate_json(query.model_dump_json()) == query for query in found.queries())


def test_yaml_and_json_lines_say_the_same_as_python(folder: Path) -> None:
    python = read_tasks(folder / "desk.py")
    yaml = read_tasks(write(folder, YAML))
    lines = [
        {"tools": "desk.py", "name": "lines"},
        {
            "query": "What did order 7 cost?",
            "expect": {
                "facts": ["12.5"],
                "calls": [{"find_order": {"id": 7}}],
                "never": ["refund"],
                "check": ["polite"],
            },
        },
        {"query": "Refund order 7.", "tools": ["refund"], "expect": {"calls": ["refund"], "state": [7]}},
    ]
    path = write(folder, "\n\n".join(map(json.dumps, lines)), "tasks.jsonl")
    of_lines = read_tasks(path)
    assert said(python) == said(yaml) == said(of_lines)
    assert (yaml.name, of_lines.name) == ("tasks", "lines")
    assert python.scorers.keys() == yaml.scorers.keys() == of_lines.scorers.keys()
    assert {path.name for path in yaml.files} == {"tasks.yaml", "desk.py", "beside.py", "__pycache__"}


def test_words_are_read_as_yaml_1_2_has_them(tmp_path: Path) -> None:
    facts = "[2026-11-26, yes, 12:30, 010, 1_000]"
    state = "{a: 7, b: -1.5, c: true, d: ~, e: '7', f: .nan, g: 1e3, h: 007}"
    (query,) = read_tasks(
        write(tmp_path, f"tasks:\n  - query: no\n    expect: {facts}\n    state: {state}\n")
    ).queries()
    assert (query.text, query.reference_facts) == ("no", ("2026-11-26", "yes", "12:30", "010", "1_000"))
    expected = {"a": 7, "b": -1.5, "c": True, "d": None, "e": "7", "f": ".nan", "g": 1000.0, "h": "007"}
    assert query.initial_state == expected


def test_a_file_of_python_is_run_once_and_read_later_from_a_copy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(folder / "state"))
    monkeypatch.chdir(folder)
    write(folder, "from trialbed import Task\nprint('ran')\ntasks = [Task('2+2?', expect='4')]", "plain.py")
    config = prepare(RunOptions(frameworks=("reference",), dataset="plain.py")).config
    assert [query.text for query in run_queries(config, folder).values()] == ["2+2?"]
    assert capsys.readouterr().out == "ran\n"


FAULTS = [
    ("tasks: [", "tasks.yaml:1: is not valid YAML"),
    ("", "tasks.yaml: is empty; write a list of tasks, or the keys tools and tasks"),
    ("tools: x.py", "tasks.yaml:1: tasks: the key is missing"),
    ("tasks:\n  - expect: x", "tasks.yaml:2: task 1: query: the key is missing"),
    (
        "tasks:\n  - query: a\n  - query: b\n    exspect: x",
        "tasks.yaml:4: task 2: exspect: there is no such key; did you mean 'expect'?",
    ),
    (
        "tasks:\n  - query: a\n    expect: 12.50",
        "tasks.yaml:3: task 1: expect: must be a text; write '12.50' in quotes",
    ),
    ("tasks:\n  - query: a\n    id: 2\n  - query: b", "tasks.yaml:4: task 2: another task has the same id"),
    ("tasks:\n  - query: a\n    state: !!binary aGk=", "tasks.yaml:3: 'tag:yaml.org,2002:binary': values have no tags"),
    (
        "tasks:\n  - query: a\n    expect:\n      at_most: {calls: -1}",
        "tasks.yaml:4: task 1: expect.at_most.calls: input",
    ),
    ("tasks:\n  - user:\n      goal: a\n      says: {b: ''}", "tasks.yaml:2: task 1: user: says.b: the reply is blank"),
    ("tasks:\n  - query: a\n    query: b", "tasks.yaml:3: query: the key occurs twice"),
    ("tools: no.py\ntasks:\n  - query: a", "tasks.yaml:1: tools: there is no file"),
    ("tools: beside.py\ntasks:\n  - query: a", "tasks.yaml:1: tools: beside.py has no tools; write @tool"),
    ("tools: desk.py\ntasks:\n  - query: a\n    tools: [refnd]", "there is no tool 'refnd'; did you mean 'refund'?"),
    (
        "tools: desk.py\ntasks:\n  - query: a\n  - query: b\n    expect: {calls: [fnd]}",
        "tasks.yaml:4: task 2: calls: the task has no tool 'fnd'",
    ),
    (
        "tools: desk.py\ntasks:\n  - query: b\n    expect: {check: rude}",
        "task 1: expect.check: no Python file under tools",
    ),
    (
        "tools: desk.py\ntasks:\n  - query: b\n    tests:\n      - {name: a}\n      - {name: a}",
        "task 1: tests: two tests are called 'a'",
    ),
    (
        "a: &a [x, x]\nb: &b [*a, *a]\n"
        + "\n".join(f"{chr(99 + n)}: &{chr(99 + n)} [{', '.join([f'*{chr(98 + n)}'] * 9)}]" for n in range(9)),
        "the file expands to more",
    ),
]


@for_each(("text", "says"), FAULTS)
def test_a_fault_of_yaml_is_named_with_its_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.setattr(located, "MOST_NODES", 10_000)
    with pytest.raises(DataError) as raised:
        read_tasks(write(folder, text))
    assert says in str(raised.value)


IMPORTS = "from trialbed import Expect, Task, tool\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tasks = [", "SyntaxError: '[' was never closed"),
        ("\n\n1 / 0", 'raised ZeroDivisionError: division by zero (File "'),
        ("raise SystemExit(3)", "raised SystemExit"),
        ("x = 1", "there are no tasks; write a list"),
        ("tasks = ['a']", "tasks: item 1 is 'a'; write Task(…)"),
        ("from trialbed import Task\ntasks = [Task('a', tools=['b'])]", "task 1: tools: there is no tool 'b'"),
        (f"{IMPORTS}tasks = [Task()]", "task 1: '' is not text; write the task in words"),
        (f"{IMPORTS}tasks = [Task('a', tools=3)]", "task 1: tools: 3 is not a list of tools"),
        (
            f"{IMPORTS}tasks = [Task('a', expect=33)]",
            "task 1: expect: 33 is not a text that is not blank, or a list of such texts, or an Expect(…)",
        ),
        (f"{IMPORTS}tasks = [Task('a', expect=Expect(calls='b'))]", "task 1: calls: 'b' is not a list of calls"),
        (f"{IMPORTS}tasks = [Task('a', expect=Expect(check='x'))]", "task 1: check: 'x' is not a function"),
        (f"{IMPORTS}tasks = [Task('a', expect=Expect(most_calls=-1))]", "most_calls: -1 is not a number from 0 on"),
        (f"{IMPORTS}tasks = [Task('a', id='x'), Task('b', id='x')]", "task x: another task has the same id"),
        (
            f"{IMPORTS}@tool\ndef f(*given): ...\ntasks = [Task('a')]",
            "f cannot be a tool: calls give arguments by name",
        ),
    ],
)
def test_a_fault_of_python_is_named(folder: Path, text: str, says: str) -> None:
    with pytest.raises(DataError) as raised:
        read_tasks(write(folder, text, "faulty.py"))
    assert str(raised.value).startswith(str(folder / "faulty.py"))
    assert says in str(raised.value)


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"desk\.yaml: there is no such file"):
        read_tasks(tmp_path / "desk.yaml")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the lines are written."""
    return tmp_path / "tasks.jsonl"


def test_lines_end_at_line_feeds_alone(path: Path) -> None:
    path.write_text(json.dumps({"query": "a\u2028b\x85c"}, ensure_ascii=False), encoding="utf-8")
    assert read_tasks(path).queries()[0].text == "a\u2028b\x85c"


@for_each(
    ("text", "says"),
    [
        ('{"query": "a"}\n{"query": ', "tasks.jsonl:2: is not valid JSON"),
        (
            '{"query": "a"}\n{"query": "b"\n',
            "tasks.jsonl:2: is not valid JSON: Expecting ',' delimiter: line 1 column 14",
        ),
        ('{"query": "a"}\n\n[1]', "tasks.jsonl:3: each line is a JSON object"),
        ('{"query": "a", "query": "b"}', "tasks.jsonl:1: is not valid JSON: the key 'query' occurs twice"),
        ('{"query": "a"}\n{"tools": []}', "tasks.jsonl:2: keys for the whole file belong in its first line"),
        ('{"query": "a"}\n{"answer": "b"}', "tasks.jsonl:2: task 2: query: the key is missing"),
        ('{"query": "a"}\n{"query": "b", "tools": ["nope"]}', "tasks.jsonl:2: task 2: tools: there is no tool 'nope'"),
        ('{"query": "a", "state": NaN}', "NaN is not JSON"),
        ('{"tools": []}\n{"query": "a"}\n{"query": 3}', "tasks.jsonl:3: task 2: query: must be a text"),
        ('{"tools": "x.py"}\n{"query": "a"}', "tasks.jsonl:1: tools: there is no file"),
    ],
)
def test_a_fault_of_json_lines_is_named_with_its_line(path: Path, text: str, says: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_tasks(path)
    assert says in str(raised.value)


def test_bytes_that_are_no_text_are_named_with_their_place(path: Path) -> None:
    path.write_bytes(b'{"query": "a"}\n{"query": "\xff"}\n')
    with pytest.raises(DataError, match=r"tasks\.jsonl:2: is not UTF-8 text: invalid start byte at byte 26$"):
        read_tasks(path)


TABLE = """Task,expect,id,tags,order
How much did order {order} cost?,12.5; USD,price,"billing, orders",7
"Say ""{order}""
and {not a column}",,,,8

"""


@for_each(
    "content",
    [
        TABLE.encode(),
        b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n").encode(),
        b'task;expect;id;tags;order;;\nHow much did order {order} cost?;"12.5;USD";price;billing,orders;7;;\n'
        b'"Say ""{ order }""\nand {not a column}";;;;8;;\n;;;;;;\n',
    ],
)
def test_rows_are_tasks_in_which_other_columns_are_variables(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tasks.csv"
    path.write_bytes(content)
    first, second = read_tasks(path).queries()
    assert (first.query_id, first.text) == ("price", "How much did order 7 cost?")
    assert (first.reference_facts, first.tags) == (("12.5", "USD"), ("billing", "orders"))
    assert second.text.replace("\r\n", "\n") == 'Say "8"\nand {not a column}'
    assert (second.query_id, second.reference_facts, second.tags) == (2, (), ())


def test_a_table_without_variables_leaves_braces_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("query,tags\nWhat does {name} mean?,x\n")
    assert read_tasks(path).queries()[0].text == "What does {name} mean?"


def test_tags_are_a_variable_too(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("task,tags\nAsk {tags}.,billing\n")
    (query,) = read_tasks(path).queries()
    assert (query.text, query.tags) == ("Ask billing.", ("billing",))


@for_each(
    ("text", "says"),
    [
        ("", "tasks.csv:1: there is no column 'task'; the columns are none"),
        ("question,answer\na,b\n", "tasks.csv:1: there is no column 'task'; the columns are question, answer"),
        ("task,query\na,b\n", "tasks.csv:1: two columns are 'query'"),
        ("task,city\n", "tasks: is empty; give at least one"),
        ('task,city\n"a\nb",x\n\nc,d,e\n', "tasks.csv:5: has 3 cells, and the first line has 2"),
        ("task,city\na {ctiy},Rome\n", "tasks.csv:2: {ctiy}: there is no column 'ctiy'; did you mean 'city'?"),
        ("task,city\n,Rome\n", "tasks.csv:2: task 1: query: the key is missing, or empty"),
        ('task\na\n"b\nc', "tasks.csv:3: is not valid CSV: unexpected end of data"),
        ("task\n" + "x" * 200_000, "tasks.csv:2: is not valid CSV: field larger than field limit"),
        ("task,id\na,1\nb,1\n", "tasks.csv:3: task 1: another task has the same id"),
    ],
)
def test_a_fault_of_a_table_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(text)
    with pytest.raises(DataError) as raised:
        read_tasks(path)
    assert says in str(raised.value)
