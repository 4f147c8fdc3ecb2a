"""Responses that are kept for requests that follow them."""

from __future__ import annotations

from trialbed.wire.dialects.responses import KeptResponses, read_request


def test_the_bytes_of_requests_count_among_those_that_are_kept() -> None:
    kept, request = KeptResponses(), read_request({"model": "m", "input": "hi"})
    for identity in ("resp_1", "resp_2"):
        kept.keep(request, {"id": identity}, 40 * 2**20)
    follows = [{"model": "m", "input": "hi", "previous_response_id": identity} for identity in ("resp_1", "resp_2")]
    codes = [kept.refusal(read_request(document))[1] for document in follows]
    assert codes == ["previous_response_not_found", ""]
