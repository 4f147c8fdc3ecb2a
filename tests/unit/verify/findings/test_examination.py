"""What is found in rows, whoever wrote them."""

from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed_verify.findings import examine, findings

USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def row(message: dict[str, Any], reason: str = "stop", **fields: Any) -> dict[str, Any]:
    head = {"id": "x", "object": "chat.completion", "created": 1767225600, "model": "m", "usage": USAGE}
    response = {**head, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
    return {
        "status": "success",
        "finish_reason": reason,
        "request": {"model": "m", "tools": [{"type": "function", "function": {"name": "look"}}]},
        "response": response | fields,
    }


def test_findings_of_a_row_are_read_as_they_were_written() -> None:
    asked = row({"role": "assistant", "content": " "})
    (found,) = findings(asked)
    assert findings({**asked, "response": None, "findings": [found.as_json()]}) == (found,)
    assert findings({**asked, "findings": []}) == ()


@for_each("fields", [{"created": 0}, {"created": None}, {"id": ""}, {"model": None}, {"object": "chat.completions"}])
def test_metadata_that_no_caller_relies_on_is_a_note(fields: dict[str, Any]) -> None:
    (found,) = findings(row({"role": "assistant", "content": "hi"}, **fields))
    assert (found.gate, found.severity) == ("protocol", "note")


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
