"""From a run in which calls went wrong to the call, by the one command that it prints."""

from __future__ import annotations

import shlex
from pathlib import Path

from support.bench import Bench


def test_the_printed_command_shows_which_call_went_wrong_and_why(bench: Bench, tmp_path: Path) -> None:
    run = bench("run", "--model", "scripted:wrong-args", "--limit", 1, "--store", tmp_path / "my runs/x.db")
    assert f"making the folder {tmp_path / 'my runs'} for the store" in run.err
    (line,) = (line for line in run.out.splitlines() if line.startswith("What went wrong"))
    command = shlex.split(line.partition(": ")[2])
    assert command[:2] == ["bench", "show"]
    shown = bench(*command[1:]).out
    problems = shown[shown.index("What went wrong") : shown.index("What the server saw")]
    assert (
        "call 1: Atlas of Tarnmere/City by name was refused: invalid arguments: 'name' is a required property"
        in problems
    )
    assert 'expected: {"name": "Ostrebridge"}' in problems


def test_a_run_in_which_nothing_went_wrong_prints_no_such_command(bench: Bench) -> None:
    assert "What went wrong" not in bench("run", "--limit", 1).out


def test_a_store_of_a_run_that_cannot_begin_is_neither_made_nor_said_to_be(bench: Bench, tmp_path: Path) -> None:
    assert "making" not in bench("run", "-d", "nosuch", "--store", "sqlite:///slip/x.db", code=2).err
    assert not (tmp_path / "slip").exists()
