"""What a number means where trials fail: failures count, what was not measured does not, and the run says so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.warm import warm_programs

from trialbed.cli import main
from trialbed_scripted import ModelTurn, ReceivedRequest, Response, ask, call, fail, say, serve

pytestmark = pytest.mark.slow

Document = dict[str, Any]

BUSY = fail(503, "no capacity", "server_error")
REFUSED = fail(400, "this model knows no such tool", "invalid_request_error")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALBED_DATA_DIR", str(tmp_path / "data"))
    with warm_programs():
        yield


def run(url: str, *more: object) -> int:
    """``bench run`` in this process with a model at this URL."""
    arguments = ["run", "--model", "m", "--base-url", url, "--model-retries", 0, *more]
    limit = [] if "--limit" in more else ["--limit", "4"]
    return main([*map(str, arguments), *limit])


def written(name: str = "reference") -> Document:
    document: Document = json.loads(Path("results", "tools", f"{name}_mini.json").read_text())
    return document


def is_about(request: ReceivedRequest, place: int) -> bool:
    """Whether a request is about the query at this place of the embedded dataset."""
    from trialbed.catalogs import open_dataset

    query = list(open_dataset("mini", Path()).queries())[place]
    return any(message["content"] == query.text for message in request.document["messages"])


def test_failures_count_as_0_and_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    def reply(request: ReceivedRequest) -> ModelTurn | Response:
        return say("I know.") if is_about(request, 0) else REFUSED

    with serve(reply) as model:
        assert run(model.url, "--fail-under", "has_finish=0.9") == 1
    summary = written()["summary"]
    assert (summary["answered_count"], summary["failed_count"], summary["not_measured_count"]) == (1, 3, 0)
    assert (summary["average_has_finish"], summary["finish_percentage"]) == (0.25, 25.0)
    assert summary["over_answered"]["averages"]["has_finish"] == 1.0
    assert summary["unsolved_count"] == 4
    shown = capsys.readouterr()
    text = " ".join(shown.out.split())
    assert "3 of 4 trials failed (model): the upstream endpoint http" in text
    assert "answered with status 400" in text
    assert "this model knows no such tool" in text
    assert "finished is 0.25, below 0.9" in shown.err
    assert "trials failed" not in shown.err, "the table has said so"


def test_what_the_endpoint_failed_is_not_measured_and_the_same_command_runs_only_that(
    capsys: pytest.CaptureFixture[str],
) -> None:
    is_busy = True
    asked: list[ReceivedRequest] = []

    def reply(request: ReceivedRequest) -> ModelTurn | Response:
        asked.append(request)
        return BUSY if is_busy and is_about(request, 2) else say("I know.")

    with serve(reply) as model:
        assert run(model.url, "--fail-under", "has_finish=0.9") == 3
        shown = capsys.readouterr()
        assert "the run is incomplete: 1 trial was not measured. --fail-under is not decided" in shown.err
        document = written()
        assert document["metadata"]["status"] == "incomplete"
        assert document["summary"]["not_measured_count"] == 1
        assert document["summary"]["average_has_finish"] == 1.0
        assert document["results"][2]["scores"]["has_finish"] is None
        assert document["results"][2]["attempt"] == 1, "it is attempted again before the run ends"

        is_busy = False
        asked.clear()
        assert run(model.url, "--fail-under", "has_finish=0.9") == 0
    assert [is_about(request, 2) for request in asked] == [True]
    again = written()
    assert again["metadata"]["run_id"] == document["metadata"]["run_id"]
    assert (again["metadata"]["status"], again["summary"]["answered_count"]) == ("finished", 4)
    assert again["results"][2]["attempt"] == 2


def test_an_incomplete_run_can_be_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("-f", "reference", "-f", "langgraph", "--limit", 3)
    with serve(lambda request: BUSY if is_about(request, 1) else say("I know.")) as model:
        assert run(model.url, *chosen) == 3
        shown = capsys.readouterr().out
        assert "INCOMPLETE: 2 trials were not measured" in shown
        assert "No scores are shown" in shown
        assert " solved " not in shown.partition("\n\n")[2]

        assert run(model.url, *chosen, "--allow-incomplete", "--fail-under", "has_finish=0.9") == 0
    shown = capsys.readouterr().out
    assert "INCOMPLETE: 2 trials were not measured" in shown
    assert "The scores are over the 2 tasks and repeats" in shown
    assert re.search(r"^mini.* solved .*not measured", shown, re.MULTILINE)
    assert written()["summary"]["common"]["trials"] == 2


def test_every_tenth_request_refused_for_capacity_costs_no_trial() -> None:
    asked: list[ReceivedRequest] = []

    def reply(request: ReceivedRequest) -> ModelTurn | Response:
        asked.append(request)
        if len(asked) % 10 == 0:
            error = {"message": "slow down", "code": "429"}
            return Response.document({"error": error}, 429, {"retry-after-ms": "20"})
        if request.asked.messages[-1].role != "user":
            return say("This is what I know.")
        return ask(call(request.asked.tools[0].name))

    with serve(reply) as model:
        assert run(model.url, "--model-retries", 3, "--probe", 0, "--limit", 15) == 0
    document = written()
    assert (document["summary"]["answered_count"], len(asked)) == (15, 33)
    assert {result["wire"]["model_calls"] for result in document["results"]} == {2}
    # Two of the three refusals may meet the same trial; others wait too, while the endpoint asks for time.
    assert sum(result["timing"]["waiting_time"] > 0 for result in document["results"]) >= 2
