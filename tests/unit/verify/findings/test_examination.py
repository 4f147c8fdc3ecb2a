"""What is found in rows, whoever wrote them."""

from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed_verify.findings import GATES, KINDS, examine, findings

USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def row(message: dict[str, Any], reason: str = "stop", **fields: Any) -> dict[str, Any]:
    head = {"id": "x", "object": "chat.completion", "created": 1767225600, "model": "m", "usage": USAGE}
    response = {**head, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
    return {
        "status": "success",
        "finish_reason": reason,
        "request": {"model": "m", "tools": [{"type": "function", "function": {"name": "look"}}]},
        "response": response | fields,
    }


def kinds(of: dict[str, Any]) -> list[str]:
    return [found.kind for found in findings(of)]


def test_a_right_answer_has_no_findings() -> None:
    assert kinds(row({"role": "assistant", "content": "hi"})) == []
    assert kinds(row({"role": "assistant", "content": None, "tool_calls": [CALL]}, "tool_calls")) == []


@for_each("name", [None, {"a": 1}, [1], 5, ""])
def test_a_call_whose_name_is_not_a_text_is_a_finding(name: Any) -> None:
    call = {**CALL, "function": {"name": name, "arguments": "{}"}}
    assert "call_function_missing" in kinds(
        row({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")
    )


def test_findings_of_a_row_are_read_as_they_were_written() -> None:
    asked = row({"role": "assistant", "content": " "})
    (found,) = findings(asked)
    assert findings({**asked, "response": None, "findings": [found.as_json()]}) == (found,)
    assert findings({**asked, "findings": []}) == ()


def test_kinds_that_this_version_does_not_know_are_left_out() -> None:
    assert findings({"findings": [{"kind": "of_a_later_version"}, "x", 7]}) == ()


def test_a_failure_and_a_row_of_nothing_have_no_findings() -> None:
    assert findings({}) == ()
    assert findings({"status": "failed", "response": {"error": "x"}}) == ()


def test_what_the_reader_saw_has_its_bytes() -> None:
    asked = {**row({"role": "assistant", "content": "hi"}), "notes": ["tokens_after_finish"]}
    (found,) = examine(asked, {"tokens_after_finish": 'data: {"late"}'})
    assert (found.gate, found.kind, found.evidence) == ("protocol", "tokens_after_finish", 'data: {"late"}')


def test_evidence_is_bounded() -> None:
    (found,) = findings(row({"role": "assistant", "content": "", "x": "y" * 10_000}))
    assert len(found.evidence) < 400


@for_each("fields", [{"created": 0}, {"created": None}, {"id": ""}, {"model": None}, {"object": "chat.completions"}])
def test_metadata_that_no_caller_relies_on_is_a_note(fields: dict[str, Any]) -> None:
    (found,) = findings(row({"role": "assistant", "content": "hi"}, **fields))
    assert (found.gate, found.severity) == ("protocol", "note")


def test_a_first_chunk_with_the_results_of_a_content_filter_breaks_no_caller() -> None:
    said = {**row({"role": "assistant", "content": "hi"}, created=0), "notes": ["chunk_field_missing", "object_wrong"]}
    assert {(found.kind, found.severity) for found in findings(said)} == {
        ("chunk_field_missing", "note"),
        ("object_wrong", "note"),
        ("created_wrong", "note"),
    }


def test_every_kind_belongs_to_a_gate() -> None:
    assert {kind.gate for kind in KINDS.values()} <= set(GATES)
    assert {kind.severity for kind in KINDS.values()} == {"violation", "note"}


def words(text: str) -> int:
    return len(text.split())


def test_counts_are_held_against_the_tokenizer_where_it_is_at_hand() -> None:
    said = row({"role": "assistant", "content": "word " * 300})
    honest = {**said, "response": {**said["response"], "usage": {**USAGE, "completion_tokens": 310}}}
    assert "own_count_differs" not in {found.kind for found in examine(honest, count=words)}
    double = {**said, "response": {**said["response"], "usage": {**USAGE, "completion_tokens": 600}}}
    assert "own_count_differs" in {found.kind for found in examine(double, count=words)}
    assert "own_count_differs" not in {found.kind for found in examine(double, count=lambda _text: None)}
    assert "own_count_differs" not in {found.kind for found in examine(double)}


def test_a_raw_prompt_and_its_completion_are_counted_as_they_are() -> None:
    choice = {"index": 0, "text": "<think>word</think> " * 100, "finish_reason": "stop"}
    usage = {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000}
    head = {"id": "x", "object": "text_completion", "created": 1767225600, "model": "m", "usage": usage}
    raw = {
        "status": "success",
        "finish_reason": "stop",
        "request": {"model": "m", "prompt": "word " * 900},
        "response": {**head, "choices": [choice]},
    }
    assert examine(raw, count=words) == ()
    (found,) = examine({**raw, "request": {"model": "m", "prompt": "word " * 90}}, count=words)
    assert (found.kind, "prompt" in found.message) == ("own_count_differs", True)
