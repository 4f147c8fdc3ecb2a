"""Addresses, headers with keys, and answers with more headers, or longer ones, than HTTP clients usually take."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from support.cases import for_each
from support.wire import BODY, reply, saying

from trialbed.wire.addresses import answer_limits, is_loopback, key_headers, short_address, split_address


@for_each("host", ["localhost", "api.localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])
def test_these_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@for_each("host", ["", "0.0.0.0", "::", "10.0.0.1", "localhost.example.com", "127.0.0.1.nip.io"])
def test_these_are_not(host: str) -> None:
    assert not is_loopback(host)


@for_each(
    ("model", "split", "short"),
    [
        ("small", ("small", None), "small"),
        ("small@https://user:pw@h/v1", ("small", "https://user:pw@h/v1"), "small@h"),
        ("small@http://h:1/v1/", ("small", "http://h:1/v1"), "small@h:1"),
        ("qwen2.5:0.5b@https://h/openai/v1", ("qwen2.5:0.5b", "https://h/openai/v1"), "qwen2.5:0.5b@h/openai"),
        ("claude@20240620", ("claude@20240620", None), "claude@20240620"),
        ("claude@20240620@https://h/v1", ("claude@20240620", "https://h/v1"), "claude@20240620@h"),
    ],
)
def test_a_model_may_name_its_endpoint(model: str, split: tuple[str, str | None], short: str) -> None:
    assert split_address(model) == split
    assert short_address(model) == short


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


MANY = [f"X-Policy-{number}: on" for number in range(400)]


@pytest.mark.parametrize("headers", [MANY, [f"X-Policy: {'x' * 20_000}"]], ids=["many", "long"])
async def test_an_answer_may_have_many_headers_and_long_ones(headers: list[str]) -> None:
    async with (
        saying(reply(*headers, "Connection: close")) as server,
        aiohttp.ClientSession(**answer_limits()) as session,
        session.post(server.url) as answer,
    ):
        assert answer.status == 200
        assert await answer.read() == BODY
