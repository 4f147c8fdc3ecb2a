"""Files of conversations: every format is recognised, nothing is lost, and errors say where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.conversations import (
    CALL,
    CONVERTED,
    EXPORT,
    NODE,
    OPENAI,
    RAGAS,
    RAW,
    TOOL,
    UNFINISHED,
    only,
    written,
)

from trialbed.errors import DataError, NothingMeasured
from trialbed_evaluation.conversations import FORMATS, ToolCall, read_references, read_samples


@for_each(
    ("value", "form", "name"),
    [
        ({"id": "x", "predicted": [CALL], "reference": [CALL]}, "calls", "weather"),
        (OPENAI, "messages", "weather"),
        ({"messages": OPENAI, "tools": [TOOL]}, "messages", "weather"),
        ({"user_input": RAGAS, "reference_tool_calls": [CALL]}, "messages", "weather"),
        ({"conversation": RAGAS}, "messages", "weather"),
        (RAGAS, "messages", "weather"),
        (CONVERTED, "stabletoolbench", "weather"),
        (RAW, "stabletoolbench-raw", "weather"),
        (UNFINISHED, "stabletoolbench-raw", "weather"),
        (
            {"answer": {"final_answer": "Sunny.", "answer_details": [NODE]}, "called_apis": []},
            "stabletoolbench",
            "weather",
        ),
        (EXPORT, "spans of OpenTelemetry", "weather"),
    ],
)
@for_each("indent", [None, 2])
def test_each_format_is_recognised(tmp_path: Path, value: Any, form: str, name: str, indent: int | None) -> None:
    sample = only(written(tmp_path, value, indent=indent))
    assert sample.format == form
    assert form.partition(" ")[0] in FORMATS
    assert sample.calls[0].name == name
    assert sample.calls[0].args == {"city": "Rome"}


def test_lines_of_several_formats_keep_their_order_and_places(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    values = {"id": "a", "predicted": []}, OPENAI, {"id": "b", "user_input": RAGAS}
    path.write_text("{}\n\n \n{}\n{}\n".format(*map(json.dumps, values)), encoding="utf-8")
    samples = read_samples(path)
    assert [sample.place for sample in samples] == [f"{path}:1", f"{path}:4", f"{path}:5"]
    assert [sample.id for sample in samples] == ["a", f"{path}:4", "b"]


def test_a_list_holds_samples(tmp_path: Path) -> None:
    samples = read_samples(written(tmp_path, [{"predicted": [CALL]}, {"predicted": []}], indent=1))
    assert [len(sample.calls) for sample in samples] == [1, 0]
    assert samples[1].place.endswith(":1[1]")


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    written(tmp_path, RAW, name="2_CoT@1.json")
    written(tmp_path, RAW, name="1_CoT@1.json")
    (tmp_path / "notes.txt").write_text("not JSON")
    assert [sample.id for sample in read_samples(tmp_path)] == ["1", "2"]


@for_each(
    ("text", "said"),
    [
        ('{"id": 1, "predicted": []}\n{"id": 2, "predicted": }', r"file\.jsonl:2: column 24: is not JSON"),
        ('{"id": 1, "predicted": []}\n\n{"id": 2}', r"file\.jsonl:3: the format is not recognised; the object has id"),
        ('{"predicted": [{"name": 5, "args": {}}]}', r"file\.jsonl:1: predicted\[0\]\.name: must be the tool's name"),
        ('{"predicted": [{"name": "f"}]}', r"predicted\[0\]\.args: is missing"),
        ('{"predicted": [{"name": "f", "args": [1]}]}', r"predicted\[0\]\.args: must be an object"),
        ('{"predicted": {}}', r"predicted: must be a list, not an object"),
        ('{"predicted": [], "reference": [[{"name": "f"}]]}', r"reference\[0\]\[0\]\.args"),
        ('{"predicted": [], "reference_topics": [1]}', r"reference_topics\[0\]: must be text"),
        ('{"id": [], "predicted": []}', r":1: id: must be text or a number"),
        ('{"predicted": [], "predicted": []}', r":1: the key 'predicted' occurs twice"),
        ('{"predicted": [], "x": NaN}', r":1: NaN is not JSON"),
        ('{"messages": [{"role": "bot", "content": ""}]}', r":1: messages\[0\]\.role: must be one of"),
        ('{"messages": [{"role": "user", "content": 5}]}', r"messages\[0\]\.content: must be text or a list"),
        ('{"messages": [], "tools": [{"type": "function"}]}', r"tools\[0\]"),
        ("5", r"file\.jsonl:1: must be an object, not a number"),
        ("[5]", r"file\.jsonl:1\[0\]: must be an object, not a number"),
        ('{"a": {"answer": {"answer_details": [{"role": "tool"}]}}}', r":1: a: answer\.answer_details\[0\]"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": ""}]}]}]}', r"spans\[0\]: trace_id"),
        (
            '{"traceId": "t", "spanId": "s", "attributes": {"gen_ai.input.messages": "["}}',
            r"gen_ai\.input\.messages: is not",
        ),
        ("[" * 100_000, r"file\.jsonl:1: is nested too deeply"),
        ('{"predicted": ' + "[" * 201 + "]" * 201 + "}", r"file\.jsonl:1: nested deeper than 200 levels"),
        ('{"predicted": [], "x": 1e999}', r":1: the number 1e999 is too large"),
        ('{"predicted": null, "reference": []}', r":1: has neither calls"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_samples(path)


@pytest.mark.parametrize("text", ["", "\n\n", "[]"])
def test_a_file_with_nothing_in_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NothingMeasured, match=r"file\.jsonl: nothing could be scored"):
        read_samples(path)


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(b'{"id": "\xff"}')
    with pytest.raises(DataError, match="is not UTF-8"):
        read_samples(path)


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('\ufeff{"id": "é", "predicted": []}\r\n', encoding="utf-8")
    assert only(path).id == "é"


def test_references_of_their_own(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": 1, "reference": [CALL]}, {"id": "b", "reference_topics": ["x"]})
    assert read_references(path) == {
        "1": {"reference": (ToolCall("weather", {"city": "Rome"}),)},
        "b": {"reference_topics": ("x",)},
    }
    for values, said in (
        ([{"id": 1, "reference": []}] * 2, ":2: id: '1' occurs twice"),
        ([{"reference": []}], ":1: id: is missing"),
        ([{"id": 1}], ":1: has no reference"),
    ):
        with pytest.raises(DataError, match=said):
            read_references(written(tmp_path, *values))
