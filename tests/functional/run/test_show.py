"""From a run in which calls went wrong to the call, by the one command that it prints."""

from __future__ import annotations

import shlex
from pathlib import Path

from support.bench import Bench


def test_the_printed_command_shows_which_call_went_wrong_and_why(bench: Bench, tmp_path: Path) -> None:
    run = bench("run", "--model", "scripted:wrong-args", "--limit", 1, "--store", tmp_path / "my runs/x.db")
    (line,) = (line for line in run.out.splitlines() if line.startswith("Next"))
    command = shlex.split(line.partition(": ")[2])
    assert command[:2] == ["bench", "show"]
    shown = bench(*command[1:]).out
    problems = shown[shown.index("What went wrong") : shown.index("What the server saw")]
    assert (
        "call 1: Atlas of Tarnmere/City by name was refused: invalid arguments: 'name' is a required property"
        in problems
    )
    assert 'expected: {"name": "Ostrebridge"}' in problems


def test_a_run_of_two_setups_ends_with_one_screen(bench: Bench) -> None:
    two = ("-f", "reference", "-f", "langgraph", "--model", "scripted:bad-json")
    lines = bench("run", *two, "--limit", 2, COLUMNS="80").out.splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    for words in (
        "reference solves most (100 %), but with 2 tasks",
        "mini ",
        "reference ",
        "langgraph:native  ",
        "Most losses: ",
        "hardest tasks ",
        "Next: ",
    ):
        assert any(line.startswith(words) for line in lines)
    assert lines[-1] == "written: 2 documents in results/tools"
