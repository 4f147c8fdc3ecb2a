"""Files of conversations: every format is recognised, nothing is lost, and errors say where."""

from __future__ import annotations

from dataclasses import replace
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
    RUN,
    TOOL,
    UNFINISHED,
    only,
    written,
)

from trialbed.errors import DataError, NothingMeasured
from trialbed_evaluation.conversations import FORMATS, ToolCall, read_references, read_samples
from trialbed_evaluation.metrics import ScoringOptions, lacking, tool_call_f1


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
        ('{"predicted": {}}', r"predicted: must be a list, not an object"),
        ('{"predicted": [], "predicted": []}', r":1: the key 'predicted' occurs twice"),
        ('{"predicted": [], "x": NaN}', r":1: NaN is not JSON"),
        ("5", r"file\.jsonl:1: must be an object, not a number"),
        ('{"a": {"answer": {"answer_details": [{"role": "tool"}]}}}', r":1: a: answer\.answer_details\[0\]"),
        ("[" * 100_000, r"file\.jsonl:1: is nested too deeply"),
        ('{"predicted": [], "x": 1e999}', r":1: the number 1e999 is too large"),
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


def test_openai_messages_are_whole(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"messages": OPENAI, "tools": [TOOL], "user": 5}))
    assert sample.messages is not None
    assert [message.role for message in sample.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert sample.messages[1].content == "weather?\n[image_url]"
    assert sample.messages[3].call_id == "c1"
    assert sample.calls[1].args == {}
    assert '{"city": "Ro' in sample.calls[1].problem
    assert sample.tools == {"weather": TOOL["function"]["parameters"]}  # type: ignore[index]


def test_groups_and_names_in_a_reference(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"predicted": [], "reference": [[CALL, "rate"], "book"]}))
    city = ToolCall("weather", {"city": "Rome"})
    assert sample.reference == ((city, ToolCall("rate", None)), ToolCall("book", None))


def test_null_arguments_of_a_call_made_are_none_and_those_of_a_reference_any(tmp_path: Path) -> None:
    sample = only(
        written(tmp_path, {"predicted": [{"name": "f", "args": None}], "reference": [{"name": "f", "args": None}]})
    )
    assert sample.calls == (ToolCall("f", {}, "", "the arguments are null"),)
    assert sample.reference == (ToolCall("f", None),)
    assert tool_call_f1([{"name": "f", "args": None}], [{"name": "f", "args": {"x": 1}}]).value == 0.0


def test_spans_of_a_trace_are_one_sample(tmp_path: Path) -> None:
    sample = only(written(tmp_path, EXPORT))
    assert sample.id == "t1"
    assert [(call.name, call.id) for call in sample.calls] == [("weather", "c1"), ("hidden", "c9")]
    assert sample.messages is not None
    assert [message.content for message in sample.messages] == ["weather?", "", ""]


@pytest.mark.parametrize(
    "recorded", [{"gen_ai.operation.name": "chat"}, {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "?"}]
)
def test_answers_that_spans_do_not_record_are_no_calls_left_out(recorded: dict[str, str], tmp_path: Path) -> None:
    spans = [{"traceId": "t", "spanId": "1", "attributes": recorded}]
    path = written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    sample = replace(only(path), reference=(ToolCall("weather", {}),))
    said = f"{path}:1: spans[0]: the model's answer is not recorded"
    assert lacking("tool_call_f1", sample, ScoringOptions()).startswith(said)


def test_calls_without_recorded_arguments_are_compared_by_name_only(tmp_path: Path) -> None:
    spans = [{"traceId": "t", "spanId": "1", "attributes": RUN}]
    sample = only(written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    known = replace(sample, reference=(ToolCall("weather", {"city": "Rome"}),))
    assert lacking("tool_call_f1", known, ScoringOptions()) == "the arguments of its calls are not recorded"
    assert lacking("tool_call_f1", replace(sample, reference=(ToolCall("weather", None),)), ScoringOptions()) == ""


def test_finish_is_no_call_but_the_answer(tmp_path: Path) -> None:
    for value, name in ((CONVERTED, "a.json"), (RAW, "588_CoT@1.json")):
        sample = only(written(tmp_path, value, name=name))
        assert sample.id == "588"
        assert [call.name for call in sample.calls] == ["weather"]
        assert sample.messages is not None
        assert sample.messages[-1].content == "Sunny."
        assert sorted(sample.tools) == ["weather"]


def test_an_unfinished_raw_answer_has_its_last_path(tmp_path: Path) -> None:
    sample = only(written(tmp_path, UNFINISHED))
    assert sample.messages is not None
    assert [message.role for message in sample.messages] == ["user", "assistant", "assistant", "tool"]
    tree = {"children": [{"node_type": "Thought", "description": "no"}, {"node_type": "Thought", "description": "yes"}]}
    sample = only(written(tmp_path, {**UNFINISHED, "trys": [], "tree": {"tree": tree}}))
    assert sample.messages is not None
    assert [message.content for message in sample.messages] == ["weather?", "yes"]


def test_queries_of_stabletoolbench_are_references(tmp_path: Path) -> None:
    apis = [
        ["Kick.com API | Kick API", "Get channel clips"],
        ["Dad Jokes_v2", "id"],
        ["T" * 70, "x"],
        ["Dad Jokes_v2", "id"],
    ]
    names = ["get_channel_clips_for_kick_com_api_kick_api", "is_id_for_dad_jokes_v2", "t" * 64]
    path = written(tmp_path, [{"query_id": 588, "query": "?", "relevant APIs": apis}])
    assert read_references(path) == {"588": {"reference": tuple(ToolCall(name, None) for name in names)}}
    with pytest.raises(DataError, match=r"relevant APIs\[0\]: must be"):
        read_references(written(tmp_path, {"query_id": 1, "relevant APIs": [["a"]]}))


def test_stabletoolbench_files_are_read(stabletoolbench_dir: Path) -> None:
    example = stabletoolbench_dir / "data_example"
    converted = read_samples(example / "model_predictions_converted" / "virtual_chatgpt_cot" / "G1_instruction.json")
    raw = read_samples(example / "answer" / "virtual_chatgpt_cot" / "G1_instruction")
    assert {sample.id for sample in converted} == {sample.id for sample in raw} == {"588", "608", "1073"}
    calls = {sample.id: [(call.name, call.args) for call in sample.calls] for sample in raw}
    assert {sample.id: [(call.name, call.args) for call in sample.calls] for sample in converted} == calls
    gold = read_references(stabletoolbench_dir / "solvable_queries" / "test_instruction" / "G1_instruction.json")
    right = {name: {call.name for call in gold[name]["reference"]} for name in calls}
    assert all(right[name] <= {call for call, _ in made} for name, made in calls.items() if name != "588")
