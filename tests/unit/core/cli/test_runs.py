"""``bench runs``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from click.testing import Result
from support.trials import changed_config

from trialbed.cli.stored import seconds, show_command
from trialbed.errors import DataError
from trialbed.records import Annotation
from trialbed.store import Store

OLD, NEW = "20260101T120000-aaaaaa", "20260202T120000-bbbbbb"


def ids(done: Result) -> list[str]:
    return [row["run_id"] for row in json.loads(done.output)]


def test_runs_are_listed_newest_first(bench: Any) -> None:
    lines = bench("runs").output.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("2026")] == [NEW, OLD]
    assert lines[2].split()[1:] == ["finished", "mini", "2", "scripted:gold", "3/4", "reference", "1.00"]
    assert lines[3].split() == ["langgraph:native", "0.00"]
    assert "There are more" not in "".join(lines)


def test_a_narrow_terminal_shows_what_matters_most(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    lines = bench("runs").output.splitlines()
    assert lines[0].split() == ["run", "status", "trials", "framework", "solved"]
    assert all(len(line) <= 72 for line in lines)


def test_how_runs_ended_is_shown_at_sixty_columns(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = bench("runs").output.splitlines()
    assert lines[0].split() == ["run", "status", "trials"]
    assert [line.split() for line in lines[2:4]] == [[NEW, "finished", "3/4"], [OLD, "finished", "2/2"]]


def test_a_run_whose_process_was_killed_is_interrupted(bench: Any, stored: Path) -> None:
    """Its record says that it is running, as nothing could be written any more."""
    with Store.open(str(stored)) as store:
        store.update_run(NEW, status="running")
        with store.lock(NEW):
            assert ids(bench("runs", "--json", "--status", "running")) == [NEW]
    before = stored.read_bytes()
    assert ids(bench("runs", "--json", "--status", "interrupted")) == [NEW]
    assert ids(bench("runs", "--json", "--status", "running")) == []
    assert f"{NEW}: interrupted, began" in bench("show", NEW).output
    assert json.loads(bench("show", NEW, "--json").output)["run"]["status"] == "interrupted"
    assert stored.read_bytes() == before
    with Store.open(str(stored)) as store:
        assert store.run(NEW).status == "running"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), [NEW, OLD]),
        (("--framework", "langgraph"), [NEW]),
        (("--model", "gpt"), []),
        (("--dataset", "mini", "--status", "finished"), [NEW, OLD]),
        (("--status", "running"), []),
        (("--limit", 1), [NEW]),
    ],
)
def test_they_are_filtered(bench: Any, options: tuple[str, ...], found: list[str]) -> None:
    assert ids(bench("runs", "--json", *options)) == found


def test_a_run_says_what_was_measured(bench: Any) -> None:
    row = json.loads(bench("runs", "--json", "--limit", 1).output)[0]
    assert row["sopr_score"] == {"reference": 1.0, "langgraph:native": 0.0}
    assert (row["answered"], row["failed"], row["trials"]) == (3, 1, 4)
    assert (row["dataset"], row["dataset_file"]) == ("mini", "")


def test_no_runs_and_no_store_are_said(bench: Any, tmp_path: Path) -> None:
    assert bench("runs", "--model", "gpt").output.endswith(" match.\n")
    assert isinstance(bench("runs", "--store", tmp_path / "none.db").exception, DataError)


def test_an_empty_store_says_how_it_gets_a_run(bench: Any, stored: Path) -> None:
    with Store.open(str(stored)) as store:
        for run in store.runs():
            store.discard_run(run.run_id)
    assert bench("runs").output.endswith(" yet; `bench run` makes one.\n")
    assert bench("runs", "--model", "gpt").output.endswith(" match.\n")


def test_more_runs_than_are_shown_are_said(bench: Any) -> None:
    assert "There are more runs" in bench("runs", "--limit", 1).output


def test_durations_are_in_words() -> None:
    assert [seconds(3.21), seconds(90), seconds(7260)] == ["3.2 s", "1 min 30 s", "2 h 1 min"]


def test_the_command_can_be_typed_and_holds_no_password() -> None:
    assert show_command("r", 'a b/"1"', "x y.db") == """bench show r 'a b/"1"' --store 'x y.db'"""
    assert show_command("r", "a/\x1b[2J") == "bench show r 'a/?[2J'"
    assert show_command("r", "", "postgresql://me:secret@host/db") == "bench show r --store URL"


def test_a_run_is_shown_in_other_formats(bench: Any) -> None:
    assert bench("show", NEW, "--format", "csv").output.startswith("agent_name,")
    assert bench("show", NEW, "--format", "markdown").output.startswith("## ")
    assert bench("show", NEW, "--format", "html").output.startswith("<!DOCTYPE html>")
    assert 'failures="2"' in bench("show", NEW, "--format", "junit").output
    assert bench("show", NEW, "--format", "json").output == bench("show", NEW, "--json").output
    assert isinstance(bench("show", NEW, "reference/1", "--format", "csv").exception, click.UsageError)


def test_a_comparison_is_printed_in_other_formats(bench: Any) -> None:
    hint = "What each figure means: the same command with --legend\n"
    assert bench("compare", NEW).output.endswith(hint)
    assert "better and worse have p below 0.05" in (explained := bench("compare", NEW, "--legend").output)
    assert hint not in explained
    assert bench("compare", NEW, "--format", "csv").output.startswith("baseline,candidate,score,")
    assert (
        bench("compare", NEW, "--format", "markdown")
        .output.partition("\n\n")[2]
        .startswith("## langgraph:native compared")
    )
    assert bench("compare", NEW, "--format", "html").output.startswith("<!DOCTYPE html>")
    assert bench("compare", NEW, "--format", "json").output == bench("compare", NEW, "--json").output
    cases = ElementTree.fromstring(bench("compare", NEW, "--format", "junit").output).findall("testsuite/testcase")
    assert [case.get("name") for case in cases] == ["solved", "right tools"]


def test_runs_are_found_by_their_tags_and_show_their_notes(bench: Any, stored: Path) -> None:
    with Store.open(str(stored)) as store:
        store.update_run(NEW, tags=("nightly", "ü b"), note="after the fix\x1b[2J")
        store.update_run(OLD, tags=("nightly",))
    assert ids(bench("runs", "--json", "--tag", "nightly")) == [NEW, OLD]
    assert ids(bench("runs", "--json", "--tag", "nightly", "--tag", "ü b")) == [NEW]
    assert ids(bench("runs", "--json", "--tag", "other")) == []
    row = json.loads(bench("runs", "--json", "--limit", 1).output)[0]
    assert (row["tags"], row["note"]) == (["nightly", "ü b"], "after the fix\x1b[2J")
    assert f"{NEW}: [nightly, ü b] after the fix?[2J" in bench("runs").output
    shown = bench("show", NEW).output
    assert "nightly, ü b" in shown
    assert "after the fix?[2J" in shown


def test_what_is_said_of_a_trial_is_shown_with_it(bench: Any, stored: Path) -> None:
    said = Annotation(framework="reference", query_id=1, rating="wrong", note="no source", correction="7")
    with Store.open(str(stored)) as store:
        store.annotate(NEW, said)
    shown = bench("show", NEW, "reference/1").output
    assert "Noted since the run\n  rating: wrong\n  note: no source\n  right answer: 7\n" in shown
    assert json.loads(bench("show", NEW, "reference/1", "--json").output)["annotation"]["correction"] == "7"
    with Store.open(str(stored)) as store:
        store.annotate(NEW, Annotation(framework="reference", query_id=1))
        assert store.run(NEW).annotations == ()


def test_a_removed_run_is_gone_and_the_store_is_smaller(bench: Any, stored: Path) -> None:
    before = stored.stat().st_size
    done = bench("runs", "remove", NEW[:8])
    assert done.output == f"removed: {NEW} (4 trials)\n"
    assert ids(bench("runs", "--json")) == [OLD]
    assert stored.stat().st_size < before
    assert [file.name for file in stored.parent.iterdir()] == [stored.name]
    assert bench("show", OLD).exit_code == 0
    assert "no run" in str(bench("runs", "remove", OLD, "20990101").exception)
    assert ids(bench("runs", "--json")) == [OLD]
    assert json.loads(bench("runs", "remove", "latest", OLD, "--json").output) == [{"run_id": OLD, "trials": 2}]


def test_a_run_that_is_under_way_is_not_removed(bench: Any, stored: Path) -> None:
    with Store.open(str(stored)) as store:
        store.update_run(NEW, status="running")
        with store.lock(NEW):
            assert "is under way; end it first" in str(bench("runs", "remove", NEW).exception)
    assert ids(bench("runs", "--json")) == [NEW, OLD]


def test_a_comparison_is_a_list_however_many_there_are(bench: Any) -> None:
    (one,) = json.loads(bench("compare", NEW, "--json").output)
    assert (one["baseline"]["status"], one["candidate"]["missing"]) == ("finished", 0)


def test_a_run_is_shown_though_its_dataset_and_frameworks_are_gone(bench: Any, stored: Path) -> None:
    with Store.open(str(stored)) as store:
        config = store.run(NEW).config
        gone = changed_config(config, dataset="gone.json", frameworks=("left", "langgraph:native"))
        store.update_run(NEW, config=gone)
    for options in ((), ("--format", "csv"), ("langgraph:native/1",)):
        done = bench("show", NEW, *options)
        assert done.exception is None, done.exception
        assert "langgraph:native" in done.output
    assert "left" in bench("runs").output
    assert json.loads(bench("show", NEW, "--json").output)["run"]["config"]["dataset"] == "gone.json"
