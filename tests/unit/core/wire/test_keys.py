"""The headers in which a key is sent."""

from __future__ import annotations

from typing import Any

import pytest

from trialbed.wire.keys import key_headers

BEARER, OWN = {"Authorization": "Bearer k"}, {"X-Api-Key": "k"}


@pytest.mark.parametrize(
    ("url", "sent", "expected"),
    [
        ("https://api.openai.test/v1", ["content-type"], BEARER),
        ("https://api.anthropic.com/v1", ["content-type"], BEARER),
        ("https://api.anthropic.com/v1", ["Anthropic-Version"], OWN),
        ("https://anthropic.com.evil.test/v1", ["anthropic-version"], BEARER | OWN),
        ("http://127.0.0.1:8000/v1", ["x-api-key"], BEARER | OWN),
    ],
)
def test_a_key_has_the_header_of_the_requests_dialect(url: str, sent: list[str], expected: Any) -> None:
    assert key_headers(url, "k", sent) == expected
    assert key_headers(url, None, sent) == {}
