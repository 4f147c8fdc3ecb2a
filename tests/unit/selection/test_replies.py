from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.records import ApiRef
from trialbed_selection.replies import named_tools

A, B, C = (ApiRef(category="c", tool_name="t", api_name=name) for name in "abc")
KNOWN = {"t_a": A, "t_b": B, "t_c": C, 't "b"': B}


@for_each(
    "reply",
    [
        '["t_b", "t_a"]',
        '["t_b", "t_a", "t_b", "unknown", 7, null]',
        '```json\n["t_b", "t_a"]\n```',
        'Here you are: ["t_b", "t_a"] because "t_c" does not fit.',
        '{"tools": ["t_b", "t_a"]}',
        '[{"name": "t_b", "why": "it fits"}, {"tool": "t_a"}]',
        '{"selected": [{"function": "T_B"}, {"api": " t_a "}]}',
        '["t_b", "t_a", "t_',
        '["t_b", "t_a",]',
        "['t_b', 't_a']",
        '<think>["t_c"]</think>["t_b","t_a"]',
        "1. t_b\n2. t_a: it fits\n",
        "- `t_b`\n- `t_a`",
        "t_b\nt_a - it fits",
        'Request [7] asks: ["t_b", "t_a"]',
        '["t \\"b\\"", "t_a", "cut',
    ],
)
def test_names_are_read_however_they_are_written(reply: str) -> None:
    assert named_tools(reply, KNOWN) == [B, A]


@for_each("reply", ["", "[]", "I cannot help.", '["unknown"]', "{" * 5000, '{"a": 1}', "null", "\ud800"])
def test_a_reply_without_a_known_name_is_refused(reply: str) -> None:
    with pytest.raises(ValueError, match="it names no tool of the list"):
        named_tools(reply, KNOWN)


@given(st.text())
def test_no_reply_breaks_the_reader(reply: str) -> None:
    with contextlib.suppress(ValueError):
        assert set(named_tools(reply, KNOWN)) <= {A, B, C}
