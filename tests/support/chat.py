"""What vendors may send, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

KEYS = [
    "choices",
    "message",
    "delta",
    "finish_reason",
    "tool_calls",
    "function",
    "index",
    "usage",
    "error",
    "content",
    "name",
    "arguments",
    "id",
    "text",
    "x_groq",
    "completion_tokens_details",
    "model",
]
ODD_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "stop", "tool_calls", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=25,
)
"""JSON with the keys of completions where they do not belong."""
