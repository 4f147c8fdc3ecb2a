"""The secret never passes, whatever the pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from trialbed_server.gateway.redaction import Redactor

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


def test_nothing_is_held_back_that_cannot_be_the_secret() -> None:
    redactor = Redactor(SECRET)
    assert redactor.feed(b"data: hello\n\n") == b"data: hello\n\n"
    assert redactor.feed(b"data: sk-a") == b"data: "
    assert redactor.feed(b"a") == b""
    assert redactor.feed(b"x") == b"sk-aax"


def test_short_keys_and_no_key_mask_nothing() -> None:
    assert Redactor("EMPTY").whole(b"EMPTY list") == b"EMPTY list"
    assert Redactor(None).whole(b"as it is") == b"as it is"
