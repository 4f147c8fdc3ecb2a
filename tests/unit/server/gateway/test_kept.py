"""The responses that the gateway keeps for a trial."""

from __future__ import annotations

import json
from typing import Any

from trialbed.wire import ModelAnswer
from trialbed.wire.dialects import dialect
from trialbed_server.gateway.kept import ResponseKeeper

SPOKEN = dialect("responses")


def test_the_bytes_of_requests_count_among_those_that_are_kept() -> None:
    keeper, trial = ResponseKeeper(), _trial()
    for identity in ("1", "2"):
        request = SPOKEN.read_request({"model": "m", "input": "hi"})
        (body,) = SPOKEN.write_answer(ModelAnswer(content="x", id=identity, model="m", finish_reason="stop"), request)
        document = json.loads(body)
        assert document["id"] == f"resp_{identity}"
        keeper.keep(trial, request, document, 40 * 2**20)
    assert [keeper.holds(trial, f"responses/resp_{identity}") for identity in ("1", "2")] == [False, True]


def _trial() -> Any:
    """Anything that can be told from other trials."""

    class Trial:
        pass

    return Trial()
