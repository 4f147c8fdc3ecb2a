"""Files of tasks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import for_each
from support.examples import examples

from trialbed.catalogs import open_dataset, run_queries
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


def test_a_file_of_tasks_is_a_dataset_by_its_path(folder: Path) -> None:
    assert said(open_dataset(str(write(folder, YAML)), folder)) == said(open_dataset(str(folder / "desk.py"), folder))


def test_definitions_are_answered_by_a_simulator(tmp_path: Path) -> None:
    found = read_tasks(
        write(
            tmp_path,
            "tools:\n"
            "  - function: {name: weather, parameters: {type: object, properties: {city: {type: string}}}}\n"
            "    example: {degrees: int}\n"
            "tasks:\n"
            "  - {query: 'How warm is Oslo?', id: warm, expect: '12', answer: 12 degrees}\n",
        )
    )
    (query,) = found.queries()
    assert (query.query_id, query.reference_facts, query.reference_answer) == ("warm", ("12",), "12 degrees")
    assert query.apis[0].template_response == {"degrees": "int"}
    assert not found.functions


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
    ("12.50", "tasks.yaml: holds 12.5; write a list of tasks"),
    ("tools: x.py", "tasks.yaml:1: tasks: the key is missing"),
    ("tasks: []", "tasks.yaml:1: tasks: is empty; give at least one"),
    ("tasks:\n  - expect: x", "tasks.yaml:2: task 1: query: the key is missing"),
    (
        "tasks:\n  - query: a\n  - query: b\n    exspect: x",
        "tasks.yaml:4: task 2: exspect: there is no such key; did you mean 'expect'?",
    ),
    (
        "tasks:\n  - query: a\n    expect: 12.50",
        "tasks.yaml:3: task 1: expect: must be a text; write '12.50' in quotes",
    ),
    ("tasks:\n  - query: a\n    id: 2\n  - query: b", "tasks.yaml:4: task 2: another task has this id, too"),
    ("tasks:\n  - query: a\n    state: !!binary aGk=", "tasks.yaml:3: 'tag:yaml.org,2002:binary': values have no tags"),
    ("tasks:\n  - query: a\n    state: [!!timestamp 2026-11-26]", "values have no tags here"),
    (
        "tasks:\n  - query: a\n    expect:\n      facts: [1]",
        "tasks.yaml:4: task 1: expect.facts[0]: must be a text; write '1' in quotes",
    ),
    (
        "tasks:\n  - query: a\n    expect:\n      order: strict",
        "tasks.yaml:4: task 1: expect.order: input should be 'any' or",
    ),
    (
        "tasks:\n  - query: a\n    expect:\n      at_most: {calls: -1}",
        "tasks.yaml:4: task 1: expect.at_most.calls: input",
    ),
    ("tasks:\n  - turns:\n      - expect: x", "tasks.yaml:3: task 1: turns[0].user: the key is missing"),
    ("tasks:\n  - user:\n      goal: a\n      says: {b: ''}", "tasks.yaml:2: task 1: user: says.b: the reply is blank"),
    ("tasks:\n  - query: a\n    query: b", "tasks.yaml:3: query: the key occurs twice"),
    ("tools: no.py\ntasks:\n  - query: a", "tasks.yaml:1: tools: there is no file"),
    ("tools: desk.txt\ntasks:\n  - query: a", "tasks.yaml:1: tools: 'desk.txt' is not a file of tools"),
    ("tools: beside.py\ntasks:\n  - query: a", "tasks.yaml:1: tools: beside.py has no tools; write @tool"),
    ("tools: desk.py:fnd\ntasks:\n  - query: a", "there is no function 'fnd'"),
    ("tools: desk.py\ntasks:\n  - query: a\n    tools: [refnd]", "there is no tool 'refnd'; did you mean 'refund'?"),
    (
        "tools: desk.py\ntasks:\n  - query: a\n  - query: b\n    expect: {calls: [fnd]}",
        "tasks.yaml:4: task 2: calls: the task has no tool 'fnd'",
    ),
    (
        "tools: desk.py\ntasks:\n  - query: b\n    expect: {calls: [{a: {}, b: {}}]}",
        "task 1: expect.calls[0]: a call has one",
    ),
    (
        "tools: desk.py\ntasks:\n  - query: b\n    expect: {check: rude}",
        "task 1: expect.check: no Python file under tools",
    ),
    ("tools: desk.py\ntasks:\n  - query: b\n    expect: {ways: [[refund]]}", "task 1: ways: give one of them as calls"),
    (
        "tools: desk.py\ntasks:\n  - query: b\n    tests: [{name: a, check: rude}]",
        "task 1: tests[0].check: no Python file under tools",
    ),
    (
        "tools: desk.py\ntasks:\n  - query: b\n    tests:\n      - {name: a}\n      - {name: a}",
        "task 1: tests: two tests are called 'a'",
    ),
    ("tools: desk.py\ntasks:\n  - query: b\n    tests: [{facts: a}]", "task 1: tests[0].name: the key is missing"),
    (
        "tools: desk.py\ntasks:\n  - query: b\n    tests: [{name: a, calls: [{refind: {}}]}]",
        "task 1: tests: a: calls: the task has no tool 'refind'",
    ),
    (
        "tools: desk.py\ntasks:\n  - query: b\n    expect: {criteria: ['']}",
        "task 1: criteria: [''] is not a text that is not blank",
    ),
    ("name: ../x\ntasks:\n  - query: a", "tasks.yaml:1: name: string should match pattern"),
    (
        "a: &a [x, x]\nb: &b [*a, *a]\n"
        + "\n".join(f"{chr(99 + n)}: &{chr(99 + n)} [{', '.join([f'*{chr(98 + n)}'] * 9)}]" for n in range(9)),
        "the file stands for more",
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


@for_each(
    ("text", "says"),
    [
        ("tasks = [", "SyntaxError: '[' was never closed"),
        ("import nowhere_at_all", "raised ModuleNotFoundError"),
        ("\n\n1 / 0", 'raised ZeroDivisionError: division by zero (File "'),
        ("raise SystemExit(3)", "raised SystemExit"),
        ("x = 1", "there are no tasks; write a list"),
        ("tasks = 3", "tasks is 3; write a list"),
        ("tasks = ['a']", "tasks: item 1 is 'a'; write Task(…)"),
        ("from trialbed import Task\ntasks = [Task('a', tools=['b'])]", "task 1: tools: there is no tool 'b'"),
        (
            "from trialbed import Task, Expect\ntasks = [Task('a', calls=[], expect=Expect())]",
            "task 1: give calls and final_state to",
        ),
        (f"{IMPORTS}tasks = []", "there are no tasks; write a list"),
        (
            f"{IMPORTS}tasks = [Task()]",
            "task 1: '' is not a task in words",
        ),
        (f"{IMPORTS}tasks = [Task(3)]", "task 1: 3 is not a task in words"),
        (f"{IMPORTS}tasks = [Task('')]", "task 1: '' is not a task in words"),
        (f"{IMPORTS}tasks = [Task('a', tools=3)]", "task 1: tools: 3 is not a list of tools"),
        (f"{IMPORTS}tasks = [Task('a', id=2.5)]", "task 2.5: id: 2.5 is not a number or a text"),
        (f"{IMPORTS}tasks = [Task('a', answer=3)]", "task 1: answer: 3 is not a text"),
        (
            f"{IMPORTS}tasks = [Task('a', expect=33)]",
            "task 1: expect: 33 is not a text that is not blank, or a list of such texts, or an Expect(…)",
        ),
        (f"{IMPORTS}tasks = [Task('a', expect=[3])]", "task 1: expect: [3] is not a text"),
        (f"{IMPORTS}tasks = [Task('a', calls='b')]", "task 1: calls: 'b' is not a list of calls"),
        (f"{IMPORTS}tasks = [Task('a', expect=Expect(calls='b'))]", "task 1: calls: 'b' is not a list of calls"),
        (f"{IMPORTS}tasks = [Task('a', expect=Expect(ways=3))]", "task 1: ways: 3 is not a list of lists of calls"),
        (f"{IMPORTS}tasks = [Task('a', expect=Expect(check='x'))]", "task 1: check: 'x' is not a function"),
        (f"{IMPORTS}tasks = [Task('a', expect=Expect(most_calls=-1))]", "most_calls: -1 is not a number from 0 on"),
        (f"{IMPORTS}tasks = [Task('a', id='x'), Task('b', id='x')]", "task x: another task has this id, too"),
        (
            f"{IMPORTS}@tool\ndef f(*given): ...\ntasks = [Task('a')]",
            "f cannot be a tool: calls give arguments by name",
        ),
        (
            f"{IMPORTS}@tool\ndef f(x: 'Nope'): ...\ntasks = [Task('a')]",
            "f cannot be a tool: name 'Nope' is not defined",
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


@given(st.text(alphabet=st.sampled_from("tasks:- queryexpc\n{}[]&*'\"#!%|>0.5~"), max_size=80))
@settings(max_examples=examples(2))
def test_any_text_is_read_or_refused(text: str) -> None:
    folder = Path(__file__).parent
    path = folder / "nothing.yaml"
    original, stat = Path.is_file, Path.stat

    def read(_path: Path) -> str:
        return text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trialbed_tools.located.read_text", read)
        patch.setattr(Path, "is_file", lambda self: self == path or original(self))
        patch.setattr(Path, "stat", lambda self, **how: stat(folder if self == path else self, **how))
        try:
            read_tasks(path)
        except DataError as error:
            assert str(path) in str(error)  # noqa: PT017 - most are refused


def test_a_very_large_file_in_yaml_is_refused_with_the_form_that_is_read_by_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "desk.yaml"
    path.write_text("tasks:\n- query: Where is Ann?\n  tools: []\n")
    monkeypatch.setattr("trialbed_tasks.reading.LARGEST_YAML", path.stat().st_size)
    assert len(read_tasks(path).queries()) == 1
    monkeypatch.setattr("trialbed_tasks.reading.LARGEST_YAML", path.stat().st_size - 1)
    with pytest.raises(DataError, match=r"desk\.yaml: has more than .* JSON Lines"):
        read_tasks(path)
