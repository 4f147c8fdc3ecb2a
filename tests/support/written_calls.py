"""Answers with a call as text, in the forms of models and parsers, and honest answers that mention a tool."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trialbed_verify.suites

_FILE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


def _filled(table: str) -> dict[str, str]:
    return {name: text.replace("@", '{"city": "Oslo"}') for name, text in _FILE[table].items()}


PUBLIC = _filled("parsers")
"""Form that a public parser reads -> a call of ``TOOL``."""

OTHERS = _filled("others")
"""Form that no parser was looked up for -> a call of ``TOOL``."""

THOUGHTS: dict[str, str] = _FILE["thoughts"]
"""Form -> an answer with its thoughts in the text."""


def honest_answers() -> Iterator[tuple[dict[str, Any], str]]:
    """Yield a tool of the suites, and an answer that mentions it and calls nothing, for each tool and template."""
    tools = Path(trialbed_verify.suites.__file__).with_name("tools.jsonl").read_text("utf-8")
    for tool in map(json.loads, tools.splitlines()):
        function = tool["function"]
        key = next(iter(function["parameters"].get("properties", {})), "it")
        for template in _FILE["honest"]["templates"]:
            yield tool, template.format(n=function["name"], k=key, v="Oslo")
