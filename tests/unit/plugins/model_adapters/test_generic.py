from __future__ import annotations

from support.cases import for_each

from trialbed_plugins.model_adapters import GenericAdapter


@for_each(
    ("text", "rest", "calls"),
    [
        ('a<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>', "a", [("f", '{"x": 1}')]),
        ('[TOOL_CALLS] [{"name": "f", "arguments": {}}, {"name": "g"}]', "", [("f", "{}"), ("g", "{}")]),
        ('<tool_call>{"name": "f", "arguments": "{\\"x\\": 1}"}</tool_call>', "", [("f", '{"x": 1}')]),
        ('<tool_call>{"name": "f", </tool_call>', '<tool_call>{"name": "f", </tool_call>', []),
        ("<tool_call>[1]</tool_call>", "<tool_call>[1]</tool_call>", []),
        ("no call", "no call", []),
    ],
)
def test_calls_of_raw_completions_are_found(text: str, rest: str, calls: list[tuple[str, str]]) -> None:
    left, found = GenericAdapter().calls_of(text)
    assert left == rest
    assert [(call["function"]["name"], call["function"]["arguments"]) for call in found] == calls
    assert len({call["id"] for call in found}) == len(found)
