"""OpenTelemetry's spans of generative AI."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.conversations import EXPORT, RUN, only, written

from trialbed_evaluation.conversations import ToolCall
from trialbed_evaluation.metrics import ScoringOptions, lacking


def test_spans_of_a_trace_are_one_sample(tmp_path: Path) -> None:
    sample = only(written(tmp_path, EXPORT))
    assert sample.id == "t1"
    assert [(call.name, call.id) for call in sample.calls] == [("weather", "c1"), ("hidden", "c9")]
    assert sample.messages is not None
    assert [message.content for message in sample.messages] == ["weather?", "", ""]


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


@pytest.mark.parametrize(
    "recorded",
    [{"gen_ai.operation.name": "chat"}, {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "?"}],
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
