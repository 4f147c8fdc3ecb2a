"""What the pages about vendors say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.played_vendors import write_played

from trialbed.views import Disclosures, Folded, IntervalPlot, Table
from trialbed_verify.pages import file_parts, is_results_file

Part = Table | IntervalPlot | Disclosures | Folded


def parts_of(*files: Path) -> list[Part]:
    """The parts of the page about these files."""
    return file_parts(files)


def unfolded(parts: Sequence[Any]) -> Iterator[Part]:
    for part in parts:
        yield part
        yield from part.parts if isinstance(part, Folded) else ()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[Part]:
    """The parts of the page about two vendors."""
    folder = tmp_path_factory.mktemp("vendors")
    return parts_of(*(write_played(folder / f"{name}.jsonl", seed) for seed, name in enumerate(("official", "acme"))))


def test_failures_stand_by_kind_with_an_example_of_each(shown: list[Part]) -> None:
    rows = [row for part in unfolded(shown) if isinstance(part, Table) for row in part.rows]
    assert [(row.label, row.cells) for row in rows if row.label.startswith("failed: ")] == [
        ("failed: a stream ended before its finish reason", ("4", "4"))
    ]
    examples = {part.title: part for part in unfolded(shown) if isinstance(part, Disclosures)}
    summaries = [entry.summary for entry in examples["Examples of failures and findings"].entries]
    meaning = "a stream ended before its finish reason"
    assert summaries[0].startswith(f"official: {meaning}, 4 answers, line 3 of the test set: it ended early")
    assert len([summary for summary in summaries if meaning in summary]) == 2, "a finding repeats no failure"


def test_vendors_are_compared_and_ranked_with_the_first_file_as_the_baseline(shown: list[Part]) -> None:
    notes = [note for part in shown if isinstance(part, Table) for note in part.notes]
    assert any("the one of the first file is taken: official" in note for note in notes)
    assert notes[0].startswith("acme compared with official: ")
    assert any(note.startswith("official, acme: not ranked: ") for note in notes)
    titles = [part.title for part in shown]
    assert any(title.startswith("acme compared with official") for title in titles)
    assert any("differs, in margins" in title for title in titles)
    (ranks,) = (part for part in shown if isinstance(part, Table) and "ranked" in part.title)
    assert {row.label.split(" ")[0].rstrip("*") for row in ranks.rows} == {"official", "acme"}


def test_the_page_says_where_answers_come_from_and_how_to_run_it_again(tmp_path: Path) -> None:
    files = []
    for name in ("official", "acme"):
        path = write_played(tmp_path / f"{name}_results.jsonl", 0)
        config = json.loads(path.read_text().partition("\n")[0])["config"]
        asked = {"model_id": "m-id", "base_url": f"https://{name}.example/v1", "temperature": 0.5, "stream": True}
        about = {"test_set": "set.jsonl", "test_set_digest": "ab" * 32, "trials": 3, "configuration": asked}
        summary = {"is_baseline": name == "official", "provenance": {"configuration_digest": config, **about}}
        (tmp_path / f"{name}_summary.json").write_text(json.dumps(summary))
        files.append(path)
    *_, sources, commands = parts_of(*files)
    assert isinstance(sources, Table)
    assert list(sources.columns) == ["", "official_results*", "acme_results"]
    assert ("results", "official_results.jsonl", "acme_results.jsonl") in sources.lines
    assert ("base url", "https://official.example/v1", "https://acme.example/v1") in sources.lines
    assert "test set set.jsonl; trials 3; " in sources.notes[0]
    assert "test set digest abababababab" in sources.notes[0]
    assert isinstance(commands, Table)
    assert commands.lines[1] == (
        "acme_results",
        "bench verify set.jsonl --model m-id --base-url https://acme.example/v1 --trials 3 --temperature 0.5 "
        "--output acme_results.jsonl --summary acme_summary.json --stream",
    )
    assert commands.lines[-1][1] == "bench view official_results.jsonl acme_results.jsonl"


@pytest.mark.parametrize("text", ["", "[1]", '{"status": "success"}', "\x00\xff", "{" * 5000])
def test_other_files_are_not_recognised(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text(text, encoding="utf-8")
    assert not is_results_file(path)
    assert not is_results_file(tmp_path)
