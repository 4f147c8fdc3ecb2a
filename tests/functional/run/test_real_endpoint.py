"""An OpenAI-compatible endpoint by URL, with the key from ``.env``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench

from trialbed_scripted import ModelTurn, ReceivedRequest, Response, ask, call, fail, say, serve

pytestmark = pytest.mark.slow(20)

KEY = "key-that-nobody-may-ever-see-4711"


@dataclass
class Endpoint:
    """A small vendor: one tool call, then an answer; a verdict where no tool is offered."""

    url: str = ""
    status: int = 200
    verdict: str = '{"answer_status": "Unsure", "reason": "half of it"}'
    keys: set[str] = field(default_factory=set)
    requests: list[Mapping[str, Any]] = field(default_factory=list)

    def respond(self, request: ReceivedRequest) -> ModelTurn | Response:
        self.keys.add(request.headers.get("authorization", ""))
        self.requests.append(request.document)
        if "x-own-key" in request.headers:
            return fail(401, "no such key", "authentication_error")
        if self.status != 200:
            return fail(self.status, f"the key {KEY} is not good here", "invalid_request_error")
        if not request.asked.tools:
            return say(self.verdict)
        if request.asked.messages[-1].role == "user":
            return ask(call(request.asked.tools[0].name))
        return say("This is what I know.")


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    found = Endpoint()
    with serve(found.respond) as model:
        found.url = model.url
        yield found


BOTH = ("-f", "reference", "-f", "langgraph")


def run(bench: Bench, endpoint: Endpoint, *more: object, code: int = 0) -> Any:
    return bench("run", "--model", "m", "--base-url", endpoint.url, "--limit", 2, "--json", *more, code=code)


def assert_nowhere(secret: str, folder: Path, *texts: str) -> None:
    for text in texts:
        assert secret not in text
    for path in folder.rglob("*"):
        if path.is_file() and path.name != ".env":
            assert secret.encode() not in path.read_bytes(), path


def test_both_frameworks_use_it_and_its_tokens_are_counted(bench: Bench, endpoint: Endpoint, tmp_path: Path) -> None:
    done = run(bench, endpoint, *BOTH, "--temperature", "0.5", "--max-tokens", "99", "--probe", "0")
    for document in done.documents:
        assert document["summary"]["error_count"] == 0
        for result in document["results"]:
            assert result["scores"]["model_turns"] == 2
            assert result["scores"]["total_tokens"] == 28
            assert result["scores"]["claimed_vs_observed"] == 1.0
    assert endpoint.keys == {f"Bearer {KEY}"}
    assert {request["temperature"] for request in endpoint.requests} == {0.5}
    assert all(99 in (request.get("max_tokens"), request.get("max_completion_tokens")) for request in endpoint.requests)
    assert_nowhere(KEY, tmp_path, done.out, done.err)


def test_what_a_judge_asks_is_shown_and_counts_against_the_budget(bench: Bench, endpoint: Endpoint) -> None:
    judged = ("--judge", "m", "--price", "1000,1000", "-j", 1)
    document = run(bench, endpoint, *judged).document
    (use,) = document["metadata"]["helpers"]
    assert (use["role"], use["model"], use["requests"]) == ("judge", "m", 2)
    assert use["prompt_tokens"] > 0
    assert use["cost"] == pytest.approx((use["prompt_tokens"] + use["completion_tokens"]) / 1000)
    said = bench("show", "latest", "--full").out
    assert "Beside the trials: judge m: 2 requests, " in said
    # The judge's part alone brings the run to its end, after the first trial and its verdict.
    first = document["results"][0]["scores"]["cost"]
    whole = use["cost"] / 2 + first
    ended = run(bench, endpoint, *judged, "--seed", 1, "--budget", f"{first + (whole - first) / 2:.4f}USD", code=3)
    assert ended.document["summary"]["answered_count"] == 1
    (answered,) = [result for result in ended.document["results"] if result["status"] == "answered"]
    assert answered["evaluation"]["votes"] == ["Unsure"]
    assert f"covers no further trial: {whole:.3g} USD of " in ended.err


def test_a_budget_needs_the_price_of_the_judge(bench: Bench, endpoint: Endpoint) -> None:
    priced = ("--price", "1,1", "--budget", "5USD")
    refused = run(bench, endpoint, "--judge", "judge-model", *priced, code=2).err
    assert "--budget: the price of judge-model is not known" in refused


def test_a_judge_that_talks_nonsense_is_an_error_and_never_a_guess(bench: Bench, endpoint: Endpoint) -> None:
    endpoint.verdict = "I like it!"
    done = run(bench, endpoint, "--judge", "judge-model", code=3)
    assert "2 answers have no verdict of the judge. bench score 2" in done.err
    assert " --judge judge-model asks again; --allow-incomplete accepts" in done.err
    document = done.document
    summary = document["summary"]
    assert summary["average_sopr_score"] is None
    assert summary["denominators"]["sopr_score"] == 0
    assert summary["average_api_precision"] is not None
    assert [result["scores"]["sopr_score"] for result in document["results"]] == [None, None]


def test_a_refused_key_measures_nothing_and_is_not_shown(bench: Bench, endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.status = 401
    done = run(bench, endpoint, *BOTH, code=3)
    assert "401" in done.err
    assert_nowhere(KEY, tmp_path, done.out, done.err)


def test_models_at_several_endpoints_are_asked_with_their_own_keys(bench: Bench, tmp_path: Path) -> None:
    """One name at two endpoints: each has its column, price, key and answers; a key goes to no other host."""
    other_key = "key-of-the-other-host-4712"
    (tmp_path / ".env").write_text(f"OTHER_API_KEY={other_key}\nOPENAI_API_KEY={KEY}\n")
    first, second = Endpoint(), Endpoint()
    second.respond = lambda request: _silent(second, request)  # type: ignore[method-assign]
    with serve(first.respond) as one, serve(lambda request: second.respond(request)) as two:
        names = [f"m@{one.url}", f"m@{two.url}"]
        own_host, host = (url.removeprefix("http://").removesuffix("/v1") for url in (one.url, two.url))
        asked = ("--model", names[0], "--model", names[1], "--endpoint-key-env", f"{host}=OTHER_API_KEY")
        priced = ("--price", f"{names[0]}=1,1", "--price", f"{names[1]}=1000,1000", "--budget", "5USD")
        done = bench("run", *asked, *priced, "--limit", 1, "--json")
    (own, other) = done.documents
    labels = [document["metadata"]["agent_name"] for document in (own, other)]
    assert labels == [f"reference@m@{own_host}", f"reference@m@{host}"]
    assert [document["metadata"]["model"] for document in (own, other)] == names
    assert [document["metadata"]["model_name"] for document in (own, other)] == ["m", "m"]
    assert [document["results"][0]["scores"]["model_turns"] for document in (own, other)] == [2, 1]
    assert own["summary"]["totals"]["cost"] == pytest.approx(28e-6)
    assert other["summary"]["totals"]["cost"] == pytest.approx(14e-3)
    assert {request["model"] for request in (*first.requests, *second.requests)} == {"m"}
    assert second.keys == {f"Bearer {other_key}"}
    assert first.keys == {""}, "a host gets no key that is not for it"
    assert_nowhere(KEY, tmp_path, done.out, done.err)
    assert_nowhere(other_key, tmp_path, done.out, done.err)


def _silent(endpoint: Endpoint, request: ReceivedRequest) -> ModelTurn:
    endpoint.keys.add(request.headers.get("authorization", ""))
    endpoint.requests.append(request.document)
    return say("I do not know.")
