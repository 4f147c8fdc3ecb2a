"""Files of conversations: every format is recognised, nothing is lost, and errors say where."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trialbed.conversations import FORMATS, Sample, ToolCall, read_references, read_samples
from trialbed.errors import DataError, NothingMeasured
from trialbed.metrics import ScoringOptions, lacking, tool_call_f1

CALL = {"name": "weather", "args": {"city": "Rome"}}
TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "weather?"}, {"type": "image_url", "image_url": {}}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}},
            {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Ro'}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    {"role": "assistant", "content": "Sunny."},
]
RAGAS = [
    {"type": "human", "content": "weather?"},
    {"type": "ai", "content": "", "tool_calls": [CALL]},
    {"type": "tool", "content": "sunny"},
]
NODE = {
    "role": "tool",
    "message": {"name": "weather", "arguments": '{"city": "Rome"}', "response": "sunny"},
    "next": [],
}
FINISH = {"return_type": "give_answer", "final_answer": "Sunny."}
LAST = {"role": "tool", "message": {"name": "Finish", "arguments": json.dumps(FINISH), "response": ""}, "next": []}
CONVERTED = {
    "588": {
        "query": "weather?",
        "available_tools": [TOOL["function"], {"name": "Finish", "parameters": {}}],
        "answer": {
            "method": "CoT@1",
            "total_steps": 4,
            "final_answer": json.dumps(FINISH),
            "answer_details": [{"role": "system", "message": "", "next": [{**NODE, "next": [LAST]}]}],
        },
    }
}
RAW = {
    "answer_generation": {
        "valid_data": True,
        "query": "weather?",
        "function": [TOOL],
        "final_answer": json.dumps(FINISH),
        "train_messages": [
            [],
            [
                {"role": "user", "content": "weather?"},
                {"role": "assistant", "function_call": {"name": "weather", "arguments": '{"city": "Rome"}'}},
                {"role": "function", "name": "weather", "content": "sunny"},
                {"role": "assistant", "function_call": {"name": "Finish", "arguments": json.dumps(FINISH)}},
            ],
        ],
    }
}
UNFINISHED = {
    "answer_generation": {"valid_data": False, "query": "weather?", "train_messages": [], "function": []},
    "trys": [
        {
            "chain": [
                {"node_type": "Thought", "description": "Let me see."},
                {"node_type": "Action", "description": "weather"},
                {"node_type": "Action Input", "description": '{"city": "Rome"}', "observation": "sunny"},
            ]
        }
    ],
}
DOCUMENT = {
    "metadata": {},
    "summary": {},
    "results": [
        {
            "query_id": 7,
            "query_text": "weather?",
            "gold_apis": [["Weather", "now"]],
            "called_apis": [["Weather", "now"]],
            "final_answer": "Sunny.",
            "gold_answer": {"final_answer": "It is sunny.", "has_finish": True},
            "answer_details": [
                {
                    "role": "tool",
                    "message": json.dumps({"name": "Weather_now", "arguments": {"city": "Rome"}}),
                    "next": [],
                }
            ],
        },
        {"query_id": 8, "gold_apis": [["Weather", "now"]], "called_apis": [["Weather", "now"]], "answer_details": []},
    ],
}


def attributes(**values: Any) -> list[dict[str, Any]]:
    return [
        {"key": f"gen_ai.{name.replace('__', '.')}", "value": {"stringValue": value}} for name, value in values.items()
    ]


CHAT = attributes(
    operation__name="chat",
    input__messages=json.dumps([{"role": "user", "parts": [{"type": "text", "content": "weather?"}]}]),
    output__messages=json.dumps(
        [
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Rome"}}],
                "finish_reason": "tool_call",
            }
        ]
    ),
)
RUN = attributes(operation__name="execute_tool", tool__name="weather", tool__call__id="c1")
LATER = attributes(operation__name="execute_tool", tool__name="hidden", tool__call__id="c9", tool__call__arguments="{}")
EXPORT = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {"traceId": "t1", "spanId": "3", "startTimeUnixNano": "30", "attributes": LATER},
                        {"traceId": "t1", "spanId": "2", "startTimeUnixNano": "20", "attributes": RUN},
                        {"traceId": "t1", "spanId": "1", "startTimeUnixNano": "9", "attributes": CHAT},
                        {"traceId": "t2", "spanId": "4", "startTimeUnixNano": "9", "attributes": []},
                    ]
                }
            ]
        }
    ]
}


def written(tmp_path: Path, *values: Any, name: str = "file.jsonl", indent: int | None = None) -> Path:
    path = tmp_path / name
    path.write_text(
        "\n".join(json.dumps(value, ensure_ascii=False, indent=indent) for value in values), encoding="utf-8"
    )
    return path


def only(path: Path) -> Sample:
    (sample,) = read_samples(path)
    return sample


@pytest.mark.parametrize(
    ("value", "form", "name"),
    [
        ({"id": "x", "predicted": [CALL], "reference": [CALL]}, "calls", "weather"),
        (OPENAI, "openai", "weather"),
        ({"messages": OPENAI, "tools": [TOOL]}, "openai", "weather"),
        ({"user_input": RAGAS, "reference_tool_calls": [CALL]}, "ragas", "weather"),
        ({"conversation": RAGAS}, "ragas", "weather"),
        (RAGAS, "ragas", "weather"),
        (CONVERTED, "stabletoolbench", "weather"),
        (RAW, "stabletoolbench-raw", "weather"),
        (UNFINISHED, "stabletoolbench-raw", "weather"),
        (
            {"answer": {"final_answer": "Sunny.", "answer_details": [NODE]}, "called_apis": []},
            "stabletoolbench",
            "weather",
        ),
        ({**DOCUMENT, "results": DOCUMENT["results"][:1]}, "trialbed", "Weather_now"),
        (EXPORT, "opentelemetry", "weather"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_each_format_is_recognised(tmp_path: Path, value: Any, form: str, name: str, indent: int | None) -> None:
    sample = only(written(tmp_path, value, indent=indent))
    assert sample.format == form
    assert form in FORMATS
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


def test_openai_messages_are_whole(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"messages": OPENAI, "tools": [TOOL], "user": 5}))
    assert sample.messages is not None
    assert [message.role for message in sample.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert sample.messages[1].content == "weather?\n[image_url]"
    assert sample.messages[3].call_id == "c1"
    assert sample.calls[1].args == {}
    assert '{"city": "Ro' in sample.calls[1].problem
    assert sample.tools == {"weather": TOOL["function"]["parameters"]}  # type: ignore[index]
    assert sample.other == {"user": 5}


def test_finish_is_no_call_but_the_answer(tmp_path: Path) -> None:
    for value, name in ((CONVERTED, "a.json"), (RAW, "588_CoT@1.json")):
        sample = only(written(tmp_path, value, name=name))
        assert sample.id == "588"
        assert [call.name for call in sample.calls] == ["weather"]
        assert sample.messages is not None
        assert sample.messages[-1].content == "Sunny."
        assert sorted(sample.tools) == ["weather"]


def test_messages_that_python_wrote_are_read(tmp_path: Path) -> None:
    last = {**LAST, "message": repr(LAST["message"])}
    node = {**NODE, "message": repr(NODE["message"]), "next": [last]}
    answer = {"final_answer": json.dumps(FINISH), "answer_details": [{"role": "system", "message": "", "next": [node]}]}
    sample = only(written(tmp_path, {"588": {"query": "weather?", "available_tools": [], "answer": answer}}))
    assert sample.calls == (ToolCall("weather", {"city": "Rome"}),)
    assert sample.messages is not None
    assert sample.messages[-1].content == "Sunny."


def test_an_unfinished_raw_answer_has_its_last_path(tmp_path: Path) -> None:
    sample = only(written(tmp_path, UNFINISHED))
    assert sample.messages is not None
    assert [message.role for message in sample.messages] == ["user", "assistant", "assistant", "tool"]
    tree = {"children": [{"node_type": "Thought", "description": "no"}, {"node_type": "Thought", "description": "yes"}]}
    sample = only(written(tmp_path, {**UNFINISHED, "trys": [], "tree": {"tree": tree}}))
    assert sample.messages is not None
    assert [message.content for message in sample.messages] == ["weather?", "yes"]


def test_result_documents_are_compared_by_name(tmp_path: Path) -> None:
    first, second = read_samples(written(tmp_path, DOCUMENT))
    assert (first.id, first.reference, first.reference_goal) == ("7", (ToolCall("Weather_now", None),), "It is sunny.")
    assert second.calls == (ToolCall("Weather_now", None),)


def test_spans_of_a_trace_are_one_sample(tmp_path: Path) -> None:
    sample = only(written(tmp_path, EXPORT))
    assert sample.id == "t1"
    assert [(call.name, call.id) for call in sample.calls] == [("weather", "c1"), ("hidden", "c9")]
    assert sample.messages is not None
    assert [message.content for message in sample.messages] == ["weather?", ""]


def test_spans_of_the_console_exporter_and_older_conventions(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    span = {
        "name": "chat gpt",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "start_time": "2026-01-01T00:00:00Z",
        "attributes": {"gen_ai.operation.name": "chat"},
        "events": [
            {"name": "gen_ai.user.message", "attributes": {"content": "weather?"}},
            {"name": "gen_ai.choice", "attributes": {"index": 0, "message": json.dumps({"tool_calls": [call]})}},
        ],
    }
    sample = only(written(tmp_path, span, indent=4))
    assert sample.calls == (ToolCall("weather", {"city": "Rome"}, "c1"),)
    assert sample.messages is not None
    assert sample.messages[0].content == "weather?"


def test_spans_without_recorded_arguments_say_so(tmp_path: Path) -> None:
    spans = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "1", "attributes": RUN}]}]}]}
    assert "gen_ai.tool.call.arguments" in only(written(tmp_path, spans)).calls[0].problem


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    written(tmp_path, RAW, name="2_CoT@1.json")
    written(tmp_path, RAW, name="1_CoT@1.json")
    (tmp_path / "notes.txt").write_text("not JSON")
    assert [sample.id for sample in read_samples(tmp_path)] == ["1", "2"]


def test_groups_and_names_in_a_reference(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"predicted": [], "reference": [[CALL, "rate"], "book"]}))
    city = ToolCall("weather", {"city": "Rome"})
    assert sample.reference == ((city, ToolCall("rate", None)), ToolCall("book", None))


def test_a_reference_in_words_is_a_goal(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"user_input": RAGAS, "reference": "It rained.", "reference_topics": ["weather"]}))
    assert (sample.reference_goal, sample.reference_topics, sample.reference) == ("It rained.", ("weather",), None)


def test_a_sample_of_one_turn(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"user_input": "weather?", "response": "Sunny."}))
    assert sample.messages is not None
    assert [(message.role, message.content) for message in sample.messages] == [
        ("user", "weather?"),
        ("assistant", "Sunny."),
    ]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "recorded",
    [{"gen_ai.operation.name": "chat"}, {"gen_ai.prompt.0.role": "user", "gen_ai.completion.0.tool_calls.0.name": "f"}],
)
def test_answers_that_spans_do_not_record_are_no_calls_left_out(recorded: dict[str, str], tmp_path: Path) -> None:
    spans = [{"traceId": "t", "spanId": "1", "attributes": recorded}]
    path = written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    sample = replace(only(path), reference=(ToolCall("weather", {}),))
    assert lacking("tool_call_f1", sample, ScoringOptions()) == (
        f"{path}:1: spans[0]: the model's answer is not recorded (gen_ai.output.messages)"
    )


def test_calls_without_recorded_arguments_are_compared_by_name_only(tmp_path: Path) -> None:
    spans = [{"traceId": "t", "spanId": "1", "attributes": RUN}]
    sample = only(written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    known = replace(sample, reference=(ToolCall("weather", {"city": "Rome"}),))
    assert lacking("tool_call_f1", known, ScoringOptions()) == "the arguments of its calls are not recorded"
    assert lacking("tool_call_f1", replace(sample, reference=(ToolCall("weather", None),)), ScoringOptions()) == ""


def test_null_arguments_of_a_call_made_are_none_and_those_of_a_reference_any(tmp_path: Path) -> None:
    sample = only(
        written(tmp_path, {"predicted": [{"name": "f", "args": None}], "reference": [{"name": "f", "args": None}]})
    )
    assert sample.calls == (ToolCall("f", {}, "", "the arguments are null"),)
    assert sample.reference == (ToolCall("f", None),)
    assert tool_call_f1([{"name": "f", "args": None}], [{"name": "f", "args": {"x": 1}}]).value == 0.0


def test_openai_s_custom_tools_take_text(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "python", "input": "print(1)"}}
    sample = only(written(tmp_path, {"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}))
    assert sample.calls == (ToolCall("python", {"input": "print(1)"}, "c1"),)
