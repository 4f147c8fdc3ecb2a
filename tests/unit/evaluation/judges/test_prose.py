from __future__ import annotations

from support.cases import for_each

from trialbed_evaluation.judges.rule import prose

RESPONSE = {"city": "Ellwang", "weather": {"sky": "clear {", "degrees": 21.5}}


@for_each(
    "copy",
    [
        '{"city": "Ellwang", "weather": {"sky": "clear {", "degrees": 21.5}}',
        '{"error": "", "response": {"city": "Ellwang"}}',
        "{'city': 'Ellwang', 'weather': {'degrees': 21.5}}",
        '[{"sky": "clear", "degrees": 21.5}]',
        '{"city": "Ellwang", "weather": {"sky": "clear',
    ],
)
def test_copies_of_responses_are_left_out(copy: str) -> None:
    assert prose(f"before\n{copy}", [RESPONSE]).strip() == "before"


@for_each("text", ["see [1] and {this}", '{"answer": "Ellwang"}', "a ] b } c", "", '["Ellwang"]'])
def test_all_else_is_said(text: str) -> None:
    assert prose(text, [RESPONSE]) == text


def test_a_response_may_be_json_in_a_text() -> None:
    assert prose('{"city": "x"} after', ['{"city": "Ellwang"}']).strip() == "after"


def test_very_many_brackets_are_read_once() -> None:
    assert prose("[" * 100_000, [RESPONSE]) == "[" * 100_000
