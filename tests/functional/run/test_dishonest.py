"""What a framework says of itself does not save it: the wire decides what a trial is worth."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench
from support.hostile_agents import install_hostile_agents

from trialbed.store import open_store
from trialbed_pages.report import run_report
from trialbed_scripted import ModelTurn, ReceivedRequest, ask, call, say, serve

pytestmark = pytest.mark.slow

CHEATS = ("no request", "polite claims", "requests without end", "blame on the model")
STORE = ("--store", "cheats.db")


@pytest.fixture
def found(bench: Bench, bench_environment: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """The document of the cheating framework, its results by cheat, and the table."""
    install_hostile_agents(tmp_path / "site")
    bench_environment["PYTHONPATH"] = str(tmp_path / "site")
    chosen = [argument for name in CHEATS for argument in ("--query-id", name)]
    done = bench("run", "-f", "cheating", "--dataset", "cheats", *chosen, "--json")
    entries = {entry["query_id"]: entry for entry in done.document["results"]}
    return {"err": " ".join(done.err.split()), "summary": done.document["summary"], **entries}


def test_the_wire_decides(found: dict[str, Any]) -> None:
    summary = found["summary"]
    kinds = [found[name].get("error", {}).get("kind") for name in CHEATS]
    assert kinds == ["agent", None, "limit", "agent"]
    assert (summary["average_sopr_score"], summary["average_api_f1"], summary["not_measured_count"]) == (0, 0, 0)
    assert "the agent answered without a request to the model" in found["err"]

    polite = found["polite claims"]
    assert summary["claims"]["unasked"] == len(polite["called_apis"]) > 0
    assert polite["wire"]["unasked"] == [list(pair) for pair in polite["called_apis"]]
    assert summary["claims"]["turns"] == {"claimed": 7, "observed": 1, "trials": 1, "differ": 1}
    assert summary["claims"]["tokens"]["differ"] == 1

    assert summary["refused_requests"] == {"requests": 3, "trials": 1, "limits": {"max_steps": 3}}
    assert found["requests without end"]["error"]["message"].startswith("stopped by the limit: 3 requests past")


def obey(request: ReceivedRequest) -> ModelTurn:
    """Call every tool on offer, or repeat the request without its first word."""
    names = [tool["function"]["name"] for tool in request.document.get("tools", ())]
    return ask(*map(call, names)) if names else say(request.document["messages"][-1]["content"].partition(" ")[2])


def test_calls_on_which_the_model_did_not_decide_are_in_table_page_and_document(
    bench: Bench, bench_environment: dict[str, str], tmp_path: Path
) -> None:
    install_hostile_agents(tmp_path / "site")
    bench_environment["PYTHONPATH"] = str(tmp_path / "site")
    words = {
        "dictated as text": "that the request had already, not scored",
        "filled arguments": "with arguments that the model did not write, not scored",
    }
    chosen = [argument for name in words for argument in ("--query-id", name)]
    with serve(obey) as endpoint:
        model = ("--model", "m", "--base-url", endpoint.url)
        done = bench("run", "-f", "cheating", "--dataset", "cheats", *model, *chosen, *STORE, "--probe", "0", "--json")
    summary = done.document["summary"]
    assert summary["average_api_f1"] == 0
    found = summary["integrity"]["findings"]
    for kind in ("dictated_call", "changed_call"):
        assert found[kind]["trials"] == 1
    with open_store(str(tmp_path / STORE[1])) as reader:
        page = html.unescape(run_report(reader.run("latest")))
    table = " ".join(bench("show", "latest", *STORE).out.split())
    for name, text in words.items():
        assert text in table
        assert text in page
        assert text in " ".join(bench("show", "latest", f"cheating/{name}", *STORE).out.split())
