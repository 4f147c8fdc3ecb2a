"""Marks of templates, tools and thoughts that belong into no answer."""

from __future__ import annotations

import re

MARKERS = re.compile(
    r"<\|[a-zA-Z0-9_]{2,40}\|>"  # ChatML, Llama, Kimi, Qwen
    r"|<｜[^｜>\n]{2,40}｜>"  # noqa: RUF001 - DeepSeek writes these bars
    r"|</?(?:tool_calls?|tool_response|function_calls?|think|thinking|minimax:tool_call)>"
    r"|<(?:function|invoke|parameter)[= ][^>\n]{1,80}>"
    r"|</?(?:start|end)_of_turn>"
    r"|\[/?(?:INST|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|gMASK)\]"
    r"|<<SYS>>|<sop>"
    r"|�"
)
"""A mark; the last one stands for bytes that were not text."""


def leaked_marker(text: str) -> str | None:
    """The first mark in a text, if there is one."""
    found = MARKERS.search(text)
    return found[0] if found else None
