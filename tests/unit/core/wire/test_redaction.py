"""Secrets in every spelling, in texts, streams and records."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.records import Failure, ModelCall
from trialbed.wire.redaction import Redaction

SECRET = 'sk-Canary+/Zq9=x"y_4711'
ESCAPED = json.dumps(SECRET)[1:-1]


def each(form: str) -> str:
    return "".join(form.format(ord(character)) for character in SECRET)


SPELLINGS = {
    "as it is": SECRET,
    "JSON": ESCAPED,
    "JSON with solidus": ESCAPED.replace("/", "\\/"),
    "JSON, one character": ESCAPED.replace("+", "\\u002B"),
    "JSON, each character": each("\\u{:04x}"),
    "JSON in JSON": json.dumps(json.dumps(each("\\u{:04X}"))),
    "URL": quote(SECRET, safe=""),
    "URL, each character": each("%{:02x}"),
    "URL twice": quote(quote(SECRET, safe=""), safe=""),
    "HTML": html.escape(SECRET).replace("+", "&plus;").replace("=", "&equals;"),
    "HTML, decimal": each("&#{};"),
    "HTML, hexadecimal": each("&#x{:X};"),
    "hexadecimal escapes": each("\\x{:02x}"),
    "hexadecimal": SECRET.encode().hex(),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 in a header": base64.b64encode(f"Bearer {SECRET}!".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(f"u:{SECRET}".encode()).decode(),
}


@for_each("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_secret_is_found_and_masked_however_it_is_written(spelling: str) -> None:
    redaction = Redaction([SECRET])
    text = f"the key {spelling} is wrong"
    assert redaction.finds(text)
    assert redaction.text(text).startswith("the key ")
    assert redaction.text(text).endswith(" is wrong")
    assert "[redacted]" in redaction.text(text)
    assert not redaction.finds(redaction.text(text))
    body = redaction.body(json.dumps({"error": text}))
    assert len(body) == len(json.dumps({"error": text}))
    assert not redaction.finds(json.loads(body)["error"])


@for_each("text", ["", "sk-Canary", "plain \\u002b %2B &plus; text", "\\" * 1000, "a" * 1000 + "ä"])
def test_other_texts_stay_the_same_objects(text: str) -> None:
    assert Redaction([SECRET, "short"]).text(text) is text
    assert Redaction([]).body(text) is text


def test_runs_of_escapes_cost_no_more_than_other_texts() -> None:
    for text in ("\\" * 300_000, "%25" * 100_000, "&amp;" * 60_000, "\\u002" * 60_000):
        assert SECRET not in Redaction([SECRET]).text(SECRET + text)


@given(st.text(min_size=8), st.sampled_from([lambda s: s, lambda s: quote(s, safe=""), lambda s: json.dumps(s)[1:-1]]))
def test_no_secret_survives(secret: str, spell: Any) -> None:
    redaction = Redaction([secret])
    masked = redaction.text(f"a{spell(secret)}b")
    assert masked == "[redacted]" or not redaction.finds(masked)


def stream(field: str, pieces: list[str]) -> str:
    deltas = [{field: piece} for piece in pieces]
    if field == "arguments":
        deltas = [{"tool_calls": [{"index": 0, "function": delta}]} for delta in deltas]
    events = [f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n" for delta in deltas]
    return "".join(events) + "data: [DONE]\n\n"


def joined(text: str) -> str:
    texts = []
    for line in text.splitlines():
        if line.startswith("data: {"):
            delta = json.loads(line[6:])["choices"][0]["delta"]
            texts += [delta.get("content") or delta.get("tool_calls", [{}])[0].get("function", {}).get("arguments", "")]
    return "".join(texts)


@for_each("size", [1, 3, 10])
@for_each("field", ["content", "arguments"])
@for_each("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_pieces_in_events_of_a_stream_are_masked(spelling: str, field: str, size: int) -> None:
    said = f'{{"city": "{spelling}"}} ok'
    text = stream(field, [said[place : place + size] for place in range(0, len(said), size)])
    redaction = Redaction([SECRET])
    masked = redaction.body(text)
    assert not redaction.finds(joined(masked))
    assert joined(masked).startswith('{"city": "')
    assert joined(masked).endswith('"} ok')
    assert len(masked) == len(text)


def test_records_are_masked_wherever_a_text_is() -> None:
    call = ModelCall(
        started=0,
        duration=1,
        status=200,
        request=json.dumps({"messages": [{"content": SPELLINGS["URL"]}]}),
        response=stream("content", list(SECRET)),
        request_bytes=1,
        response_bytes=1,
        error=f"refused: {SECRET}",
    )
    redaction = Redaction([SECRET])
    masked = redaction.record(call)
    assert masked.error == "refused: [redacted]"
    assert json.loads(masked.request)
    assert set(joined(masked.response)) == {"*"}
    assert not redaction.finds(masked.request)
    assert redaction.record(masked) is masked
    assert Redaction([]).record(call) is call


@for_each("secret", [SECRET, "schlüssel-wörter", 'quoted"\\slashed', "\ud83d half an emoji"])
@for_each("beside", ["", "\ud83d"])
def test_a_record_is_masked_whatever_is_beside_the_secret(secret: str, beside: str) -> None:
    failure = Failure(kind="agent", message=f"{beside} {secret}", detail=json.dumps(secret))
    masked = Redaction([secret]).record(failure)
    assert masked.message == f"{beside} [redacted]"
    assert not Redaction([secret]).finds(masked.detail)
