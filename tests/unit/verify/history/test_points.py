"""Points of a history, from verification to document."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.played_vendors import message_of, rows

from trialbed.errors import DataError, UsageError
from trialbed.store import Store
from trialbed_verify.cli.history import command
from trialbed_verify.documents import as_document
from trialbed_verify.history import Point, follow, points_of_files
from trialbed_verify.vendor_rows import FileRows

DAYS = 4


def results(path: Path, day: int, change: Any = None) -> Path:
    found = list(rows(60, 2, day, flips=0.02, change=change))
    for number, row in enumerate(found):
        row["last_run_at"] = f"2026-03-{day:02}T02:00:{number % 60:02}.{number:06}+00:00"
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


def wrong_tool(row: Any, _: Any) -> None:
    for call in message_of(row).get("tool_calls") or []:
        call["function"]["name"] = "another_tool"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [
        results(tmp_path / f"day{day}.jsonl", day, wrong_tool if day == DAYS else None) for day in range(1, DAYS + 1)
    ]


def test_a_change_is_in_the_document(files: list[Path]) -> None:
    found = follow(points_of_files(files))
    *earlier, newest = found.points
    assert [one.assessment.p is None for one in earlier] == [True, False, False]
    assert newest.assessment.p is not None
    assert newest.assessment.p < 0.001
    document = as_document(found)["points"][-1]
    assert (document["most_unusual"], document["at"][:10], document["cases"]) == ("tools", "2026-03-04", 60)
    json.dumps(as_document(found), allow_nan=False)


def test_points_that_cannot_be_compared_say_why(files: list[Path], tmp_path: Path) -> None:
    points = points_of_files(files)
    (tmp_path / "day2.jsonl").unlink()
    other = Point("2026-02-01T00:00:00+00:00", "kimi-k2", "acme", FileRows(tmp_path / "x"), "", "another", 60, 2)
    found = follow([other, *points])
    reasons = [point.left_out for point in found.points]
    assert reasons[0] == "another test set or configuration than the newest"
    assert "cannot be read" in str(reasons[2])
    assert reasons[3] is None


def test_files_can_be_named_instead(files: list[Path], tmp_path: Path) -> None:
    named = points_of_files([tmp_path / "day3.jsonl", tmp_path / "day1.jsonl"])
    assert [point.at[:10] for point in named] == ["2026-03-01", "2026-03-03"]
    assert asdict(named[0])["vendor"] == "acme"


def test_a_file_that_is_named_twice_is_refused(files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        points_of_files([tmp_path / "day1.jsonl", tmp_path / "day1.jsonl"])


def test_a_file_whose_rows_have_no_time_is_refused(files: list[Path]) -> None:
    lines = map(json.loads, files[0].read_text().splitlines())
    files[0].write_text("".join(json.dumps(line | {"last_run_at": None}) + "\n" for line in lines))
    with pytest.raises(DataError, match=r"day1\.jsonl: its rows do not tell when they were complete"):
        points_of_files(files)


def test_files_of_another_configuration_are_left_out(files: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "day2.jsonl"
    other.write_text(other.read_text().replace('"config": "acme"', '"config": "another"'))
    found = follow(points_of_files([tmp_path / f"day{day}.jsonl" for day in (1, 2, 3)]))
    assert [bool(point.left_out) for point in found.points] == [False, True, False]


def test_the_command_shows_and_fails(files: list[Path], tmp_path: Path) -> None:
    runner = CliRunner()
    named = [text for path in files for text in ("--file", str(path))]
    shown = runner.invoke(command, [*named, "--false-alarms-every", "20"])
    assert "changed since 2026-03-04" in shown.output
    failing = runner.invoke(
        command, [*named, "--false-alarms-every", "20", "--fail-if-changed", "--json"], standalone_mode=False
    )
    assert failing.return_value == 1
    assert json.loads(failing.output)["changes"][0]["subjects"][0] == "tools"
    with Store.open(str(tmp_path / "trialbed.db")):
        pass
    asked = runner.invoke(command, ["m", "v", "--store", str(tmp_path / "trialbed.db")])
    assert "has no verification of m at v" in asked.output
