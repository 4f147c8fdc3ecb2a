"""A key that an endpoint repeats in every way is in nothing that is left behind."""

from __future__ import annotations

import html
import json
import re
import sqlite3
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from support.bench import Bench
from support.verification import written_set

from trialbed.wire.dialects.chat_completions import write_document
from trialbed_scripted import ReceivedRequest, Response, say, serve

KEY = "sk-Canary+/Zq9=x_4711Qw"
TELLING = KEY[3:]
"""What must not be left of it: the first characters of a key in pieces are passed on before they can be noticed."""


def each(form: str) -> str:
    return "".join(form.format(ord(character)) for character in KEY)


SPELLINGS = (
    KEY,
    KEY.replace("+", "\\u002B"),
    each("\\u{:04x}"),
    each("\\u{:04X}"),
    KEY.replace("/", "\\/"),
    quote(KEY, safe=""),
    each("%{:02x}"),
    each("&#{};"),
    each("&#x{:X};"),
    KEY.replace("+", "&plus;").replace("=", "&equals;"),
    b64encode(f"Bearer {KEY}".encode()).decode(),
    KEY.encode().hex(),
    each("\\\\x{:02x}"),
    each("\\\\u{:04x}"),
)
"""Spellings as they stand in the text of a JSON string."""

COUNT = len(SPELLINGS)


@dataclass
class Echo:
    """An endpoint that repeats its key: in pieces of a stream, in a document, in an error, and as a judge."""

    url: str = ""
    keys: set[str] = field(default_factory=set)
    asked: int = 0

    def respond(self, request: ReceivedRequest) -> Response:
        self.keys.add(request.headers["authorization"])
        spelling = SPELLINGS[self.asked % COUNT]
        self.asked += 1
        status, media_type, text = reply(request.document, spelling, refuses=self.asked % 5 == 4)
        return Response((text.encode(),), status, media_type, {"X-Your-Key": KEY})


def reply(request: Mapping[str, Any], spelling: str, *, refuses: bool) -> tuple[int, str, str]:
    """Status, type and body."""
    text: str = json.loads(f'"{spelling}"')
    messages, tools = request["messages"], request.get("tools")
    if not tools:
        verdict = json.dumps({"answer_status": "Unsure", "reason": f"the key {text}"})
        return 200, "application/json", document(json.dumps(verdict)[1:-1])
    if messages[-1]["role"] == "tool":
        return 200, "application/json", document(f"The key is {spelling}, I think.")
    if refuses:
        error = json.dumps({"error": {"message": "wrong key: @", "type": "invalid_request_error"}})
        return 400, "application/json", error.replace("@", spelling)
    return 200, "text/event-stream", stream(tools[0]["function"]["name"], text)


def document(content: str) -> str:
    return json.dumps(write_document(say("@").answer(id="x", model="m"))).replace("@", content)


def stream(tool: str, text: str) -> str:
    function = {"name": tool, "arguments": ""}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": piece} for piece in pieces(f"I use {text}.")]
    deltas += [{"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}]
    arguments = pieces(json.dumps({"city": text}))
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in arguments]
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks += [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]
    shared = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [f"data: {json.dumps({**shared, 'choices': [chunk]})}\n\n" for chunk in chunks]
    return "".join(events) + "data: [DONE]\n\n"


def pieces(text: str) -> list[str]:
    return [text[place : place + 5] for place in range(0, len(text), 5)]


@pytest.fixture
def echo() -> Iterator[Echo]:
    found = Echo()
    with serve(found.respond) as model:
        found.url = model.url
        yield found


@pytest.fixture(params=["environment", ".env"])
def key(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The variables of the command; the key is among them, or in a file."""
    if request.param == "environment":
        return {"OPENAI_API_KEY": KEY}
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    return {}


@pytest.mark.slow
def test_a_run_and_its_judge_leave_no_key(
    bench: Bench, key: dict[str, str], echo: Echo, streaming_site: Path, tmp_path: Path
) -> None:
    options = ("-f", "streaming", "--model", "m", "--base-url", echo.url, "--limit", COUNT, "--judge", "judge-model")
    done = bench("run", *options, code=None, PYTHONPATH=str(streaming_site), **key)
    assert echo.keys == {f"Bearer {KEY}"}
    assert echo.asked > 2 * COUNT, done.err
    left = [*artefacts(tmp_path), done.out, done.err]
    assert any("****" in text for text in left)
    assert not [text[:300] for text in left if tells(text)]


def test_a_verification_leaves_no_key(bench: Bench, key: dict[str, str], echo: Echo, tmp_path: Path) -> None:
    tests = written_set(tmp_path / "set.jsonl", COUNT)
    options = ("--model", "m", "--base-url", echo.url)
    done = bench("verify", tests, *options, code=None, **key)
    assert echo.keys == {f"Bearer {KEY}"}
    left = [*artefacts(tmp_path), done.out, done.err]
    assert any("[redacted]" in text for text in left)
    assert not [text[:300] for text in left if tells(text)]


def artefacts(folder: Path) -> Iterator[str]:
    """The texts in the files of a folder; of databases, those in their cells, decompressed."""
    for path in sorted(folder.rglob("*")):
        if path.name == ".env" or not path.is_file():
            continue
        data = path.read_bytes()
        yield data.decode("utf-8", "replace")
        if data.startswith(b"SQLite format 3"):
            yield from cells(path)


def cells(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                yield from (value if isinstance(value, str) else unpacked(value) for value in row if value is not None)


def unpacked(value: Any) -> str:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return zlib.decompress(value).decode()
    except zlib.error:
        return value.decode("utf-8", "replace")


def tells(text: str) -> bool:
    """Whether a text tells the key to anyone who undoes escapes and joins pieces."""
    return any(has_key(each) for each in (text, *joined(text)))


def has_key(text: str) -> bool:
    data = KEY.encode()
    encoded = [b64encode(b"\0" * offset + data).decode()[4:-4] for offset in range(3)]
    if any(spelling in text for spelling in (*encoded, data.hex(), data.hex().upper())):
        return True
    for _ in range(5):
        if TELLING in text or TELLING in text.replace("\\", ""):
            return True
        text = re.sub(r"\\+u([0-9a-fA-F]{4})|\\+x([0-9a-fA-F]{2})", lambda m: chr(int(m[1] or m[2], 16)), text)
        text = html.unescape(unquote(text))
    return False


def joined(text: str) -> Iterator[str]:
    """What the events of a stream say together, if the text is one."""
    deltas = []
    for line in text.splitlines():
        if line.startswith("data: {"):
            deltas += [choice.get("delta", {}) for choice in json.loads(line[6:]).get("choices", [])]
    yield "".join(delta.get("content") or "" for delta in deltas)
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    yield "".join(call["function"].get("arguments", "") for call in calls)
