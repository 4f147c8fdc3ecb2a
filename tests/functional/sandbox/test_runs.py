"""``bench run --sandbox``: the scores are those of a run without one, and nothing is started that cannot be held."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.bench import Bench, bench_in, own_environment

SCORES = ("sopr_score", "api_call_score", "api_f1", "has_finish", "claimed_vs_observed", "model_turns")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path, own_environment(XDG_CACHE_HOME=str(tmp_path / "cache")))


def scores(document):
    return [{name: entry["scores"][name] for name in SCORES} for entry in document["results"]]


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_scores_do_not_depend_on_the_sandbox(bench):
    run = ("run", "--limit", "2", "--framework", "reference", "--framework", "langgraph", "--json")
    without, held = bench(*run), bench(*run, "--sandbox")
    assert [scores(document) for document in held.documents] == [scores(document) for document in without.documents]
    assert {document["summary"]["error_count"] for document in held.documents} == {0}
    assert {document["metadata"]["sandbox"] for document in held.documents} == {True}
    assert all("no_new_privs" in document["metadata"]["sandbox_mechanisms"] for document in held.documents)
    assert without.documents[0]["metadata"]["sandbox"] is False
    assert without.documents[0]["metadata"]["sandbox_mechanisms"] == []


PROGRAM = """
import json, os, sys, urllib.request

task = json.load(sys.stdin)
functions = [{name: tool[name] for name in ("name", "description", "parameters")} for tool in task["tools"]]
apis = {tool["name"]: tool["api"] for tool in task["tools"]}
messages = [{"role": "system", "content": task["instructions"]}, {"role": "user", "content": task["query"]}]
try:
    sys.exit("the program has read " + open(os.path.join(os.path.dirname(__file__), ".env")).read())
except OSError:
    pass


def post(url, body):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    return json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))


while True:
    tools = [{"type": "function", "function": function} for function in functions]
    body = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": tools}
    message = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)["choices"][0]["message"]
    messages.append(message)
    for call in message.get("tool_calls") or ():
        wanted = {**apis[call["function"]["name"]], "tool_input": call["function"]["arguments"]}
        answer = post(os.environ["TRIALBED_TOOLS_URL"], {**wanted, "strip": "", "toolbench_key": ""})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(answer["response"])})
    if not message.get("tool_calls"):
        break
print(message["content"])
"""


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_a_program_is_held_too_and_solves_its_tasks(bench, tmp_path):
    (tmp_path / "agent.py").write_text(PROGRAM)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-0123456789abcdefghij\n")
    command = f"{sys.executable} {tmp_path / 'agent.py'}"
    (document,) = bench("run", "--limit", "2", "--command", command, "--sandbox", "--json").documents
    about, summary = document["metadata"], document["summary"]
    assert summary["error_count"] == 0, summary["errors"]
    assert (summary["average_sopr_score"], summary["average_api_call_score"]) == (1.0, 1.0)
    assert (about["agent_name"], about["sandbox"]) == ("agent", True)
    assert "no_new_privs" in about["sandbox_mechanisms"]


def test_nothing_is_started_without_pyseccomp(bench, tmp_path):
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "pyseccomp.py").write_text("raise ImportError")
    done = bench("run", "--limit", "1", "--sandbox", code=3, PYTHONPATH=str(tmp_path / "absent"))
    assert "--sandbox: pyseccomp is not installed; install it: pip install" in done.err
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / ".trialbed").exists()
