"""The command: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.measured import Fidelity, Measured

pytestmark = pytest.mark.slow(20)

QUICK = ("--part", "prompt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@pytest.fixture(scope="module")
def measured(fidelity: Fidelity, folder: Path) -> Measured:
    """One measurement, written to a file; one of its frameworks cannot even be loaded."""
    written = ("--output", folder / "report.json")
    return fidelity("adds-a-line", "broken-import", options=(*QUICK, *written), code=1, json=False)


def test_the_table_shows_every_framework_beside_the_reference(measured: Measured) -> None:
    head = next(line for line in measured.out.splitlines() if line.startswith("Prompt, with 20 tools"))
    assert head.split()[-3:] == ["reference", "adds-a-line", "broken-import"]
    row = next(line for line in measured.out.splitlines() if line.startswith("bytes, first request"))
    assert "(+0)" in row
    assert "(+20, <1 %)" in row
    assert row.rstrip().endswith("-")
    assert "Think step by step." not in measured.err


def test_what_stands_behind_figures_is_told_below(measured: Measured) -> None:
    text = " ".join(measured.out.split())
    words = 'adds-a-line: first request, system message changed: /content changed: "… Think step by step."'
    assert words in text
    assert "broken-import: everything could not be measured" in text
    assert "a library is missing" in text


def test_progress_goes_to_standard_error(measured: Measured) -> None:
    assert "adds-a-line: prompt" in measured.err
    assert "written:" in measured.err
    assert "\x1b" not in measured.out


def test_a_report_that_was_written_is_shown_again_without_measuring(
    measured: Measured, fidelity: Fidelity, folder: Path
) -> None:
    again = fidelity(options=("--from", folder / "report.json"), code=1, json=False)
    assert again.out == measured.out
    assert "prompt" not in again.err
    document = fidelity(options=("--from", folder / "report.json"), code=1)
    assert json.loads(document.out) == json.loads((folder / "report.json").read_text())


def test_markdown_can_be_printed(measured: Measured, fidelity: Fidelity, folder: Path) -> None:
    printed = fidelity(options=("--from", folder / "report.json", "--format", "markdown"), code=1, json=False)
    assert "| bytes, first request |" in printed.out


def test_without_a_framework_the_reference_is_measured_alone(fidelity: Fidelity) -> None:
    measured = fidelity(options=QUICK)
    (found,) = measured.report.frameworks
    assert found.framework == "reference"
    assert found.prompt is not None
    assert found.schemas is found.behaviour is None


def test_the_conditions_are_part_of_the_result(fidelity: Fidelity) -> None:
    conditions = fidelity("reference", options=QUICK).report.conditions
    assert (conditions.parts, conditions.tools) == (("prompt",), 20)
    assert conditions.cores > 0
    assert conditions.seconds > 0
    assert conditions.measured_at.tzinfo is not None
    assert conditions.trialbed
    assert conditions.python
    assert conditions.system


def test_if_nothing_could_be_measured_the_exit_code_says_so(fidelity: Fidelity) -> None:
    failed = fidelity("broken-import", options=QUICK, code=3, json=False)
    assert "nothing could be measured" in failed.err
    assert "a library is missing" in failed.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--part", "nonsense"), "nonsense"),
        (("--from", "no-such-file.json"), "no-such-file.json"),
        (("-f", "no-such-framework"), "no-such-framework"),
    ],
)
def test_wrong_usage_is_told(fidelity: Fidelity, options: tuple[str, ...], message: str) -> None:
    assert message in fidelity(options=options, code=2).err


def test_a_file_of_something_else_is_no_report(fidelity: Fidelity, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"results": []}')
    assert "not a report of bench fidelity" in fidelity(options=("--from", tmp_path / "other.json"), code=2).err
