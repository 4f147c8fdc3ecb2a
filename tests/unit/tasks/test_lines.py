"""Files of tasks as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.errors import DataError
from trialbed_tasks.reading import read_tasks


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
        ('{"query": "a"}\r\n{"query": "b"\r\n', "tasks.jsonl:2: is not valid JSON: Expecting ',' delimiter: line 1"),
        ('{"query": "a"}\n\n[1]', "tasks.jsonl:3: each line is a JSON object"),
        ('{"query": "a", "query": "b"}', "tasks.jsonl:1: is not valid JSON: the key 'query' occurs twice"),
        ('{"query": "a"}\n{"tools": []}', "tasks.jsonl:2: the keys of the whole file stand in its first line"),
        ('{"tools": []}\n\n{"tools": []}', "tasks.jsonl:3: the keys of the whole file stand in its first line"),
        ('{"query": "a"}\n{"answer": "b"}', "tasks.jsonl:2: task 2: query: the key is missing"),
        ('{"tools": []}', "tasks: is empty; give at least one"),
        ('{"query": "a"}\n{"query": "b", "tools": ["nope"]}', "tasks.jsonl:2: task 2: tools: there is no tool 'nope'"),
        ('{"query": "a", "state": NaN}', "NaN is not JSON"),
        ('{"tools": []}\n{"query": "a"}\n{"query": 3}', "tasks.jsonl:3: task 2: query: must be a text"),
        ('{"query": "a", "state": "\\ud800"}', "tasks.jsonl:1: is not valid JSON"),
        ("", "tasks: is empty; give at least one"),
        ("[", "tasks.jsonl:1: is not valid JSON: Expecting value"),
        ("null", "tasks.jsonl:1: each line is a JSON object"),
        ("{'query': 'a'}", "tasks.jsonl:1: is not valid JSON: Expecting property name enclosed in double quotes"),
        ('{"query": "a"}{"query": "b"}', "tasks.jsonl:1: is not valid JSON: Extra data"),
        ('{"query": ""}', "tasks.jsonl:1: task 1: query: the key is missing, or empty"),
        ('{"query": null}', "tasks.jsonl:1: task 1: query: must be a text, and is empty"),
        ('{"query": "a", "state": 1e999}', "tasks.jsonl:1: is not valid JSON: Out of range float values"),
        (
            '{"query": "a", "expect": {"fact": 1}}',
            "tasks.jsonl:1: task 1: expect.fact: there is no such key; did you mean 'facts'?",
        ),
        ('{"query": "a", "id": [1]}', "tasks.jsonl:1: task 1: id: input should be a valid integer"),
        ('{"query": "a", "tools": ["nope"]}', "tasks.jsonl:1: task 1: tools: there is no tool 'nope'"),
        ('{"tools": "x.py"}\n{"query": "a"}', "tasks.jsonl:1: tools: there is no file"),
        (
            '{"query": "a"}\n{"query": "b", "expect": {"at_most": {"calls": "x"}}}',
            "tasks.jsonl:2: task 2: expect.at_most",
        ),
        ('{"query": "a", "state": ' + "[" * 100_000, "tasks.jsonl:1: is not valid JSON: maximum recursion depth"),
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
