"""``bench run --sandbox``: the scores are those of a run without one, and nothing is started that cannot be held."""

from __future__ import annotations

import shutil
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
def test_scores_do_not_depend_on_the_sandbox(sandbox, bench):
    run = ("run", "--limit", "2", "--framework", "reference", "--framework", "langgraph", "--json")
    without, held = bench(*run), bench(*run, "--sandbox", sandbox)
    assert [scores(document) for document in held.documents] == [scores(document) for document in without.documents]
    assert {document["summary"]["error_count"] for document in held.documents} == {0}
    assert {document["metadata"]["sandbox"] for document in held.documents} == {sandbox}
    assert all("no_new_privs" in document["metadata"]["sandbox_mechanisms"] for document in held.documents)
    assert without.documents[0]["metadata"]["sandbox"] == "none"
    assert without.documents[0]["metadata"]["sandbox_mechanisms"] == []


def test_nothing_is_started_without_bubblewrap(bench, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("uv", "env"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    done = bench("run", "--limit", "1", "--sandbox", "container", code=3, PATH=str(tools))
    assert "--sandbox container: bubblewrap is not installed; install it" in done.err
    assert not (tmp_path / "results").exists() or not list((tmp_path / "results").rglob("*.json"))
    assert not (tmp_path / ".trialbed").exists()
