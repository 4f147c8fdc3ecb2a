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
from trialbed_verify.cli.history import command
from trialbed_verify.history import Point, follow, known_vendors, points, points_of_files, record

DAYS = 4


def results(path: Path, day: int, change: Any = None) -> Path:
    found = list(rows(60, 2, day, flips=0.02, change=change))
    for number, row in enumerate(found):
        row["last_run_at"] = f"2026-03-{day:02}T02:00:{number % 60:02}.{number:06}+00:00"
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


def summary(day: int, **changes: Any) -> dict[str, Any]:
    about = {"test_set_digest": "t", "configuration_digest": "c", "test_set_cases": 60, "trials": 2}
    return {
        "model": "kimi-k2",
        "vendor": "acme",
        "last_row_at": f"2026-03-{day:02}T02:01:00+00:00",
        "success_rate": {"value": 1.0},
        "schema_accuracy_per_response": None,
        "provenance": about,
        **changes,
    }


def wrong_tool(row: Any, _: Any) -> None:
    for call in message_of(row).get("tool_calls") or []:
        call["function"]["name"] = "another_tool"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    history = tmp_path / "verifications.jsonl"
    for day in range(1, DAYS + 1):
        path = results(tmp_path / f"day{day}.jsonl", day, wrong_tool if day == DAYS else None)
        record(history, [summary(day)], [path])
    return history


def test_every_verification_is_a_point(file: Path) -> None:
    found = points(file, "kimi-k2", "acme")
    assert [point.at[:10] for point in found] == [f"2026-03-0{day}" for day in range(1, DAYS + 1)]
    assert (found[0].success_rate, found[0].schema_accuracy, found[0].trials) == (1.0, None, 2)
    assert known_vendors(file) == [("kimi-k2", "acme")]
    assert points(file, "kimi-k2", "other") == []


def test_a_results_file_that_was_continued_is_one_point(file: Path, tmp_path: Path) -> None:
    record(file, [summary(9)], [tmp_path / f"day{DAYS}.jsonl"])
    assert [point.at[8:10] for point in points(file, "kimi-k2", "acme")] == ["01", "02", "03", "09"]


def test_a_change_is_in_the_document(file: Path) -> None:
    found = follow(points(file, "kimi-k2", "acme"))
    assert [point["p"] is None for point in found["points"]] == [True, False, False, False]
    assert found["points"][-1]["p"] < 0.001
    assert found["points"][-1]["most_unusual"] == "tools"
    json.dumps(found, allow_nan=False)


def test_points_that_cannot_be_compared_say_why(file: Path, tmp_path: Path) -> None:
    (tmp_path / "day2.jsonl").unlink()
    other = Point("2026-02-01T00:00:00+00:00", "kimi-k2", "acme", str(tmp_path / "x"), "t", "another", 60, 2)
    found = follow([other, *points(file, "kimi-k2", "acme")])
    reasons = [point["left_out"] for point in found["points"]]
    assert reasons[0] == "another test set or configuration than the newest"
    assert "cannot be read" in reasons[2]
    assert reasons[3] is None


def test_a_line_that_was_cut_off_is_skipped_and_a_damaged_one_named(file: Path) -> None:
    whole = file.read_text()
    file.write_text(whole + '{"at": "20')
    assert len(points(file, "kimi-k2", "acme")) == DAYS
    file.write_text("no JSON\n" + whole)
    with pytest.raises(DataError, match="line 1"):
        points(file, "kimi-k2", "acme")


def test_files_can_be_named_instead(file: Path, tmp_path: Path) -> None:
    named = points_of_files([tmp_path / "day3.jsonl", tmp_path / "day1.jsonl"])
    assert [point.at[:10] for point in named] == ["2026-03-01", "2026-03-03"]
    assert asdict(named[0])["vendor"] == "acme"


def test_a_file_that_is_named_twice_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        points_of_files([tmp_path / "day1.jsonl", tmp_path / "day1.jsonl"])


def test_files_of_another_configuration_are_left_out(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "day2.jsonl"
    other.write_text(other.read_text().replace('"config": "acme"', '"config": "another"'))
    found = follow(points_of_files([tmp_path / f"day{day}.jsonl" for day in (1, 2, 3)]))
    assert [bool(point["left_out"]) for point in found["points"]] == [False, True, False]


def test_the_command_lists_shows_and_fails(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path))
    runner = CliRunner()
    assert runner.invoke(command, []).output == "kimi-k2 acme\n"
    shown = runner.invoke(command, ["kimi-k2", "acme", "--false-alarms-every", "20"])
    assert "changed since 2026-03-04" in shown.output
    failing = runner.invoke(
        command, ["kimi-k2", "acme", "--false-alarms-every", "20", "--fail-if-changed", "--json"], standalone_mode=False
    )
    assert failing.return_value == 1
    assert json.loads(failing.output)["changes"][0]["subjects"][0] == "tools"
    assert "has no verification of m at v" in runner.invoke(command, ["m", "v"]).output
