"""``bench adapter new``, as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import Bench


def test_it_says_what_it_made_and_what_to_do_next(bench: Bench, tmp_path: Path) -> None:
    done = bench("adapter", "new", "my-loop2")
    assert done.err == ""
    assert "Created trialbed-my-loop2." in done.out
    steps = [line.strip() for line in done.out.splitlines() if line.startswith("  ")]
    assert steps == [
        "pip install -e 'trialbed-my-loop2[test]'",
        "bench adapter check my-loop2",
        "bench run --framework reference --framework my-loop2",
    ]
    agent = tmp_path / "trialbed-my-loop2" / "src" / "trialbed_my_loop2" / "_agent.py"
    assert "replace each REPLACE in the source" in done.out
    assert "REPLACE" in agent.read_text()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("My_Loop", "try 'my-loop'"),
        ("trialbed-acme", "try 'acme'"),
        ("../acme", "'../acme' cannot be the framework's name"),
        ("reference", "trialbed already provides the framework 'reference'"),
        ("crewai", "trialbed-crewai already provides the framework 'crewai'"),
    ],
)
def test_a_name_that_cannot_be_or_is_taken_is_wrong_usage(bench: Bench, tmp_path: Path, name: str, said: str) -> None:
    done = bench("adapter", "new", name, code=2)
    assert said in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(bench: Bench, tmp_path: Path) -> None:
    bench("adapter", "new", "acme")
    mine = tmp_path / "trialbed-acme" / "README.md"
    mine.write_text("mine")
    assert "trialbed-acme already exists" in bench("adapter", "new", "acme", code=2).err
    assert mine.read_text() == "mine"


def test_a_place_that_cannot_be_written_is_named(bench: Bench) -> None:
    done = bench("adapter", "new", "acme", "--output", "/proc/acme", code=2)
    assert "/proc/acme/trialbed-acme cannot be written" in done.err
    assert "--output" in done.err
