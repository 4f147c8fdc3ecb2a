"""Responses as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from trialbed_scripted import Response
from trialbed_server.gateway.exchange import ResponseWriter


async def test_the_end_of_an_answer_follows_its_last_part_at_once() -> None:
    """A client that hangs up after the last part would else seem to break the answer off."""
    happened: list[object] = []

    async def send(message: Mapping[str, Any]) -> None:
        happened.append(message.get("body"))

    async def pause() -> None:
        happened.append("pause")

    exchange = cast("Any", SimpleNamespace(began=lambda *_, **__: None, wrote=lambda _: None, done=False))
    await ResponseWriter(cast("Any", send), exchange).response(Response(parts=(b"one", b"two"), sized=False), pause)
    assert happened == [None, b"one", "pause", b"two", b""]
