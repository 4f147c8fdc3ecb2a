"""``bench runs``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from trialbed.cli.stored import show_command
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
            assert "is still running; stop it first" in str(bench("runs", "remove", NEW).exception)
    assert ids(bench("runs", "--json")) == [NEW, OLD]
