"""``bench show``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from support.stored_runs import BEGUN, add_begun_run, trial
from support.trials import cells_of, run_config, run_of

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed.records import Failure
from trialbed.report import run_settings
from trialbed.store import Store

OLD, NEW = "20260101T120000-aaaaaa", "20260202T120000-bbbbbb"


def test_a_run_is_shown_on_a_screen(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = bench("show", "latest").output
    assert len(shown.splitlines()) <= 30
    assert shown.startswith("reference solves most (100 %), but with 2 tasks no difference from it is \nsignificant;")
    assert re.search(r"^mini +solved +tokens +failed +verdict$", shown, re.MULTILINE)
    assert "Most losses: langgraph:native, 1 of 2 trials failed (agent)" in shown
    assert "hardest tasks" in shown
    assert "compared with reference" not in shown
    assert re.search(rf"^run +{NEW}: finished", shown, re.MULTILINE)
    assert shown.endswith(f"\nNext: bench show {NEW} langgraph:native/1\n      bench show {NEW} --full\n")


def test_addresses_of_models_are_shown_without_passwords() -> None:
    judge = "https://user:pw@host/v1?api-key=canary"
    cells = *cells_of("reference", model=f"m@{judge}"), *cells_of("reference@other", model="other")
    named = {"judge_model": f"gpt@{judge}", "simulator_model": "small"}
    config = run_config(*cells, base_url="https://user:pw@host/v1", **named)
    shown = dict(run_settings(run_of(config)))
    assert (shown["judge model"], shown["simulator model"]) == ("gpt@host", "small")
    assert shown["model"] == "m@host, other"
    assert shown["base url"] == "https://host/v1"


@pytest.mark.parametrize("option", ["--full", "--legend"])
def test_a_run_shows_its_settings_scores_failures_and_worst_queries(bench: Any, option: str) -> None:
    shown = bench("show", "latest", option).output
    assert f"run          {NEW}: finished" in shown
    assert "2 tasks" in shown
    assert shown.startswith("reference solves most (100 %), but with 2 tasks no difference from it is significant")
    assert "\nscores " in shown
    assert "compared with reference" in shown
    assert "1 of 2 trials failed (agent)" in shown
    worst = shown[shown.index("hardest tasks") : shown.index("run          ")]
    assert re.split("  +", worst.splitlines()[2])[:3] == ["1", "0.5", "1 Solved, 1 Unsolved"]
    assert shown.endswith(f"\nNext: bench show {NEW} langgraph:native/1\n")
    assert "hidden-password" not in shown


@pytest.mark.parametrize("frameworks", [("reference",), ("reference", "langgraph:native")])
def test_a_run_of_which_no_trial_has_ended_is_shown(bench: Any, stored: Path, frameworks: tuple[str, ...]) -> None:
    add_begun_run(stored, frameworks)
    for options in ((), ("--full",), ("--legend",)):
        shown = bench("show", "latest", *options)
        assert not shown.exception
        assert re.match(r"(No setup has a result|reference has no result) yet: \d trials were not", shown.output)
        assert "hardest tasks" not in shown.output
    found = json.loads(bench("show", "latest", "--json").output)
    assert found["run"]["run_id"] == BEGUN
    assert found["worst"] == []
    for form in ("html", "csv", "json", "junit", "markdown"):
        shown = bench("show", "latest", "--format", form)
        assert not shown.exception
        assert "reference" in shown.output


def test_a_run_is_json_with_its_frameworks_and_worst_queries(bench: Any) -> None:
    found = json.loads(bench("show", "latest", "--json").output)
    assert [part["metadata"]["agent_name"] for part in found["frameworks"]] == ["reference", "langgraph:native"]
    assert found["worst"][0]["trial"] == "langgraph:native/1"
    assert "hidden-password" not in json.dumps(found)


@pytest.mark.parametrize("name", ["langgraph/1", "langgraph:native/1", "langgraph:native/1/0"])
def test_a_trial_shows_which_call_went_wrong_and_why(bench: Any, name: str) -> None:
    shown = bench("show", "latest", name).output
    assert shown.startswith("langgraph:native on task 1: answered\n")
    assert "\ntools: 1, of which 1 fill up the choice: weather_now\n" in shown
    problems = shown[shown.index("What went wrong") : shown.index("What the server saw")]
    assert "call 1: Weather/now was refused: 'city' is a required property\n      sent: {}" in problems
    assert "Unsolved: it lacks 21" in problems
    assert "+0.200 s  call 1: Weather/now" in shown
    assert "(1 message as before)" in shown
    assert "solved       0 Unsolved: it lacks 21 (judge rule)" in shown


def test_an_attempt_that_failed_is_shown_with_its_number_and_the_details_of_its_failure(
    bench: Any, stored: Path
) -> None:
    made = trial("langgraph:native", "a/b", wrong=True)
    failure = Failure(kind="crash", message="it died", detail="Traceback: at the end")
    outcome = made.outcome.model_copy(update={"failure": failure})
    called = made.wire.api_calls[0].model_copy(update={"status": 429, "provenance": "real", "offered": False})
    wire = made.wire.model_copy(update={"api_calls": (called,)})
    with Store.open(str(stored)) as store:
        store.update_run(NEW, config=store.run(NEW).config.model_copy(update={"repeat": 2}))
        store.add_trial(NEW, made.model_copy(update={"attempt": 1, "outcome": outcome, "wire": wire}))
    shown = bench("show", NEW, "langgraph/a/b", "--attempt", 1).output
    assert shown.startswith("langgraph:native on task a/b, repeat 0, attempt 1: failed (crash)\n")
    for words in (
        "What went wrong\n  1. trial: failed (crash): it died\n",
        "  call 1: Weather/now (not offered) in 0.100 s, status 429, real\n",
        "What the agent claims\n  The agent gave no answer.\n",
        "Scores\n  None, as the trial failed or was not measured.\n",
        "Details of the failure\n  Traceback: at the end\n",
    ):
        assert words in shown


def test_what_others_wrote_cannot_control_the_terminal(bench: Any) -> None:
    for name in ("reference/1", "langgraph/a/b"):
        shown = bench("show", "latest", name, "--full").output
        assert "???[2Jcleared?]0;title? ?reversed?\n" in shown
        assert all(character.isprintable() or character == "\n" for character in shown)
        assert "\nnext" not in shown


def test_json_holds_it_in_escapes(bench: Any) -> None:
    for arguments in (("latest", "langgraph/a/b"), ("latest",)):
        shown = bench("show", *arguments, "--json").output
        assert all(character.isprintable() or character == "\n" for character in shown)
        assert "\\u009b\\ud83d\\u001b[2Jcleared" in shown
        json.loads(shown)


def test_long_texts_are_cut_with_a_hint(bench: Any) -> None:
    cut, full = (bench("show", "latest", "reference/1", *options).output for options in ((), ("--full",)))
    assert "more characters]" in cut
    assert "--full shows them" in cut
    assert "long " * 200 in full
    assert "--full" not in full


def test_a_trial_is_json_too(bench: Any) -> None:
    found = json.loads(bench("show", "latest", "langgraph/1", "--json").output)
    assert found["problems"][0]["details"] == {"sent": "{}"}
    assert found["trial"]["wire"]["api_calls"][0]["error"] == "'city' is a required property"
    assert found["tools"][0]["name"] == "weather_now"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("2020",), "no run '2020'; its latest runs are"),
        (("2026",), "several runs begin with '2026'"),
        (("",), "no run ''"),
        (("latest", "crewai/1"), "no framework 'crewai'"),
        (("latest", "langgraph/9"), "no task 9; its tasks are 1, a/b"),
        (("latest", "1"), "write FRAMEWORK/TASK, such as reference/1"),
        (("latest", "reference/1/4"), "no repeat 4"),
        (("latest", "reference/1", "--attempt", "3"), "no attempt 3; it has 0"),
        (("latest", "--attempt", "1"), "--attempt is about one trial"),
    ],
)
def test_what_is_not_there_is_named(bench: Any, arguments: tuple[str, ...], said: str) -> None:
    error = bench("show", *arguments).exception
    assert isinstance(error, (DataError, UsageError, click.UsageError, TrialbedError))
    assert said in str(error)
