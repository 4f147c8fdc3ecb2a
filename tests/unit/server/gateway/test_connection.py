"""The key of an endpoint is masked."""

from __future__ import annotations

import html
import json
from itertools import pairwise
from urllib.parse import quote, unquote

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed_server.gateway.connection import Redactor

SECRET = "sk-aab-aab-aac"


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


@given(
    st.lists(st.sampled_from([SECRET, "sk-aab-", "aab", "plain ", "s", "ä"]), max_size=8).map("".join),
    st.lists(st.integers(0, 200), max_size=8),
)
def test_a_stream_is_masked_and_otherwise_unchanged(text: str, cuts: list[int]) -> None:
    data = text.encode()
    redactor = Redactor(SECRET)
    passed = b"".join(redactor.feed(piece) for piece in pieces(data, cuts)) + redactor.flush()
    assert passed == data.replace(SECRET.encode(), b"*" * len(SECRET))


def test_nothing_is_held_back_of_a_document_that_cannot_be_the_secret() -> None:
    redactor = Redactor(SECRET)
    assert redactor.feed(b" \n") == b" \n"
    assert redactor.feed(b'{"a": "hello, 100 %"') == b'{"a": "hello, 100 %"'
    assert redactor.feed(b', "b": "sk-a') == b', "b": "'
    assert redactor.feed(b"a") == b""
    assert redactor.feed(b"x") == b"sk-aax"
    assert redactor.feed(b" sk\\u00") == b" "
    assert redactor.feed(b"2daab-aab-aac!") == b"*" * (len(SECRET) + 5) + b"!"


def event(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


def test_events_pass_at_once_unless_they_may_go_on_as_the_secret() -> None:
    redactor = Redactor(SECRET)
    for text in ("hello", "s", "sk-", "100 %", "\\"):
        assert redactor.feed(event(text)) == event(text)
    assert redactor.feed(event("sk-a")) == b""
    assert redactor.feed(event("abc")) == event("sk-a") + event("abc")
    assert redactor.feed(event("end")[:-9]) == b""
    assert redactor.feed(event("end")[-9:]) == event("end")


@for_each("size", [1, 2, 5])
@for_each("spelling", [SECRET, quote(SECRET.replace("-", "/"), safe=""), "".join(f"&#{ord(c)};" for c in SECRET)])
def test_pieces_in_events_are_masked_but_for_the_first_three_characters(spelling: str, size: int) -> None:
    secret = SECRET if "/" not in unquote(spelling) else SECRET.replace("-", "/")
    redactor = Redactor(secret)
    said = f"my key is {spelling}, ok"
    sent = [event(said[place : place + size]) for place in range(0, len(said), size)] + [b"data: [DONE]\n\n"]
    passed = b"".join(redactor.feed(piece) for piece in sent) + redactor.flush()
    texts = [json.loads(line[6:])["choices"][0]["delta"]["content"] for line in passed.splitlines() if b"{" in line]
    joined = unquote(html.unescape("".join(texts)))
    assert secret not in joined
    assert secret[3:] not in joined
    assert joined.startswith("my key is ")
    assert joined.endswith("*, ok")
    assert passed.endswith(b"data: [DONE]\n\n")
    assert len(passed) == len(b"".join(sent))
