"""Runs against endpoints that fail: which trials are measured, and how the command ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from support.bench import Bench, Finished

from trialbed.wire import Call
from trialbed.wire.dialects.chat_completions import write_document
from trialbed_scripted import ModelTurn, ReceivedRequest, Response, ask, fail, say, serve

pytestmark = pytest.mark.slow

DROPPED = Response(bare=True, ending="close")


@dataclass
class Endpoint:
    """One tool call, then an answer, unless ``fails`` gives something else for the number of a request."""

    fails: Callable[[int], Response | None] = lambda _number: None
    identified: bool = True
    url: str = ""
    requests: int = 0

    def respond(self, request: ReceivedRequest) -> ModelTurn | Response:
        self.requests += 1
        failure = self.fails(self.requests)
        if failure is not None:
            return failure
        if request.asked.messages[-1].role != "user":
            return say("This is what I know.")
        turn = ask(Call(request.asked.tools[0].name, "{}"))
        if self.identified:
            return turn
        document = write_document(turn.answer(id="x", model="m"))
        del document["choices"][0]["message"]["tool_calls"][0]["id"]
        return Response.document(document)


@contextmanager
def started(endpoint: Endpoint) -> Iterator[Endpoint]:
    with serve(endpoint.respond) as model:
        endpoint.url = model.url
        yield endpoint


def run(bench: Bench, endpoint: Endpoint, *more: object, code: int = 0) -> Finished:
    return bench("run", "--model", "m", "--base-url", endpoint.url, "--json", "--probe", "0", *more, code=code)


def kinds(document: dict[str, Any]) -> set[str | None]:
    return {result.get("error", {}).get("kind") for result in document["results"]}


def test_every_tenth_request_refused_for_capacity_costs_no_trial(bench: Bench) -> None:
    def fails(number: int) -> Response | None:
        error = {"message": "slow down", "code": "429"}
        refusal = Response.document({"error": error}, 429, {"retry-after-ms": "20"})
        return refusal if number % 10 == 0 else None

    with started(Endpoint(fails)) as endpoint:
        document = run(bench, endpoint, "--limit", 15).document
    assert kinds(document) == {None}
    assert len(document["results"]) == 15
    assert {result["wire"]["model_calls"] for result in document["results"]} == {2}
    assert endpoint.requests == 33
    # Two of the three refusals may meet the same trial; others wait too, while the endpoint asks for time.
    assert sum(result["timing"]["waiting_time"] > 0 for result in document["results"]) >= 2


def test_an_endpoint_that_dies_leaves_an_incomplete_run_that_the_same_command_completes(bench: Bench) -> None:
    options = ("--limit", 12, "--concurrency", 2, "--endpoint-patience", 1, "--model-retries", 2)
    with started(Endpoint(lambda number: DROPPED if number > 10 else None)) as endpoint:
        dead = run(bench, endpoint, *options, code=3)
        assert "incomplete" in dead.err
        assert "endpoint" in dead.err
        measured = [result for result in dead.document["results"] if "error" not in result]
        assert 3 <= len(measured) <= 5
        assert kinds(dead.document) <= {None, "endpoint"}
        endpoint.fails, endpoint.requests = lambda _number: None, 0
        alive = run(bench, endpoint, *options).document
    assert kinds(alive) == {None}
    assert len(alive["results"]) == 12
    assert endpoint.requests == 2 * (12 - len(measured))


def test_a_model_that_omits_call_ids_is_no_fault_of_the_endpoint(bench: Bench) -> None:
    with started(Endpoint(identified=False)) as endpoint:
        document = run(bench, endpoint, "--limit", 3).document
    assert kinds(document) == {"model"}
    assert document["summary"]["average_api_call_score"] == 0
    assert endpoint.requests == 3


def test_a_request_at_which_the_endpoint_always_breaks_is_a_failed_trial(bench: Bench) -> None:
    class Breaking(Endpoint):
        def respond(self, request: ReceivedRequest) -> ModelTurn | Response:
            if "from Skellmoor to Zephyrine" in json.dumps(request.document["messages"]):
                return fail(500, "cannot parse the template")
            return super().respond(request)

    with started(Breaking()) as endpoint:
        document = run(bench, endpoint, "--limit", 6, "--concurrency", 1, "--model-retries", 1).document
    assert kinds(document) == {None, "model"}
    (failed,) = [result for result in document["results"] if "error" in result]
    assert "cannot parse the template" in failed["error"]["message"]
