"""Answers with more headers, or longer ones, than HTTP clients usually take."""

from __future__ import annotations

import aiohttp
import pytest
from support.wire import BODY, reply, saying

from trialbed.wire.answer_limits import answer_limits

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
