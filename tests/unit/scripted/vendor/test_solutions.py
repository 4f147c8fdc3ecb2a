from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbed.errors import UsageError
from trialbed.wire.dialects.chat_completions import read_request
from trialbed_scripted.vendor._solutions import Solutions

TOOL = {"type": "function", "function": {"name": "look"}}
MESSAGES = [{"role": "_input", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]


def test_an_answer_is_known_however_the_request_is_sent(tmp_path: Path) -> None:
    line = {"messages": MESSAGES, "stream": True, "suite": {"answer": {"text": "b"}}}
    (tmp_path / "set.jsonl").write_text(json.dumps(line) + "\n\n" + json.dumps({"messages": []}) + "\n")
    known = Solutions.read(str(tmp_path / "set.jsonl"))
    adapted = [{**MESSAGES[0], "role": "system"}, {**MESSAGES[1], "reasoning_content": " "}]
    assert known.of(read_request({"messages": adapted, "model": "m", "temperature": 0})) == {"text": "b"}
    assert known.of(read_request({"messages": adapted, "tools": [TOOL]})) is None
    assert known.of(read_request({"messages": "x"})) is None
    assert known.of(read_request({"prompt": "x"})) is None


def test_a_file_without_answers_is_named(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('{"messages": []}\n')
    with pytest.raises(UsageError, match="no line has an answer"):
        Solutions.read(str(tmp_path / "set.jsonl"))
    (tmp_path / "set.jsonl").write_text("{\n")
    with pytest.raises(UsageError, match="line 1: not JSON"):
        Solutions.read(str(tmp_path / "set.jsonl"))
    with pytest.raises(UsageError, match="cannot be read"):
        Solutions.read(str(tmp_path / "none.jsonl"))
    assert Solutions.read("").of(read_request({"messages": []})) is None
