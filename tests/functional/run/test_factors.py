"""Runs with several models, or numbers of tools."""

from __future__ import annotations

from pathlib import Path

from jsonschema import Draft202012Validator
from support.bench import Bench

from trialbed.report import document_schema

ONE = ("run", "--limit", 2, "-f", "reference", "--json")
TWO = (*ONE, "--model", "scripted:gold", "--model", "scripted:partial")


def test_a_finished_run_gets_a_further_model_in_columns_of_its_own(bench: Bench) -> None:
    first = bench(*ONE).documents[0]["metadata"]["run_id"]
    extended = bench(*TWO, "--extend")
    assert "4 trials, 2 of them kept from before" in extended.err
    own, other = extended.documents
    assert {own["metadata"]["run_id"], other["metadata"]["run_id"]} == {first}
    assert [document["metadata"]["agent_name"] for document in (own, other)] == [
        "reference",
        "reference@scripted:partial",
    ]
    assert [document["metadata"]["model"] for document in (own, other)] == ["scripted:gold", "scripted:partial"]
    assert own["summary"]["average_api_call_score"] == 1
    assert other["summary"]["average_api_call_score"] < 1

    shown = bench("show", "latest", "--full").out
    assert "compared with reference" in shown
    (compared,) = other["summary"]["comparisons"]
    found = compared["scores"]["sopr_score"]
    assert compared["against"] == "reference"
    assert found["low"] <= found["difference"] <= found["high"]
    Draft202012Validator(document_schema()).validate(own)
    page = bench("show", "latest", "--format", "html").out
    assert f"{found['difference']:+.2f}" in page
    assert "model scripted:partial" in bench("show", "latest", "reference@scripted:partial/1").out


def test_numbers_of_tools_are_columns_of_one_run_by_which_it_can_be_extended(bench: Bench) -> None:
    chosen = ("--selector", "all", "--max-tools", "30")
    first = bench(*ONE, *chosen).documents[0]["metadata"]["run_id"]
    extended = bench(*ONE, *chosen, "--max-tools", "1,30", "--extend")
    assert "4 trials, 2 of them kept from before" in extended.err
    own, few = extended.documents
    assert [document["metadata"]["max_tools"] for document in (own, few)] == [30, 1]
    assert {document["metadata"]["run_id"] for document in (own, few)} == {first}
    assert [few["metadata"]["agent_name"], own["metadata"]["agent_name"]] == ["reference@max_tools=1", "reference"]
    assert {len(entry["selected_tools"]) for entry in few["results"]} == {1}
    assert {call["lost"] for entry in few["results"] for call in entry["gold_calls"]} >= {"not offered"}


def test_a_function_of_a_file_without_a_system_prompt_gets_none(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "ag.py").write_text(
        "def deaf(query):\n    return query\n\n\nasync def told(query, *, system_prompt):\n    return system_prompt\n"
    )
    run, says = (
        ("run", "--limit", 1, "--system-prompt", "Be brief."),
        "takes no system_prompt, so the prompt is not sent",
    )
    done = bench(*run, "-f", "ag.py:deaf", "-f", "ag.py:told")
    assert done.err.count(says) == 1
    assert f"ag.deaf: the agent {says}" in done.err
    assert f"ag.deaf: the agent {says}" in bench(*run, "--system-prompt", "Be long.", "-f", "ag.py:deaf", code=2).err
