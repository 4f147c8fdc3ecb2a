"""The command: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bench import Finished

pytestmark = pytest.mark.slow(20)

Fidelity = Callable[..., Finished]

QUICK = ("--part", "conditions")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written") / "report.json"


@pytest.fixture(scope="module")
def measured(fidelity: Fidelity, file: Path) -> Finished:
    """One measurement, written to a file; one of its frameworks cannot even be loaded."""
    return fidelity("adds-a-line", "broken-import", *QUICK, "--output", file, code=1)


def test_the_table_shows_what_an_adapter_does_next_to_the_reference(measured: Finished) -> None:
    rows = {line.split()[0]: line.split()[1:] for line in measured.out.splitlines() if line.strip()}
    assert rows["probe"] == ["reference", "adds-a-line"]
    assert rows["nothing_is_added_to_the_messages"][0] == "✓"
    assert '"' + " Think step by step." + '"' in measured.out
    assert "more rows: same as reference" in measured.out
    assert "8/9 (1 finding)" in measured.out


def test_an_adapter_that_cannot_be_loaded_is_named_with_the_reason(measured: Finished) -> None:
    text = " ".join(measured.out.split())
    assert "broken-import could not be measured: frameworks: 'broken-import' of unfaithful 1.2 cannot be loaded" in text
    assert "a library is missing" in text


def test_progress_goes_to_standard_error(measured: Finished) -> None:
    assert "adds-a-line: conditions" in measured.err
    assert "adds-a-line: measured, adds-a-line 6.6.6" in measured.err
    assert "broken-import: could not be measured" in measured.err
    assert "written:" in measured.err
    assert "\x1b" not in measured.out


def test_a_file_is_shown_again_without_measuring(measured: Finished, fidelity: Fidelity, file: Path) -> None:
    again = fidelity(file, code=1)
    assert again.out == measured.out
    assert "conditions" not in again.err
    document = json.loads(fidelity(file, "--json", code=1).out)
    assert [one["label"] for one in document["adapters"]] == ["reference", "adds-a-line", "broken-import"]
    assert document["conditions"]["themes"] == ["conditions"]
    assert "| nothing\\_is\\_added\\_to\\_the\\_messages | ✓ |" in fidelity(file, "--format", "markdown", code=1).out
    assert "has nothing on calls; it has conditions" in fidelity(file, "--part", "calls", code=2).err


def test_if_nothing_could_be_measured_the_exit_code_says_so(fidelity: Fidelity) -> None:
    failed = fidelity("broken-import", "--part", "policies", code=3)
    assert "nothing could be measured" in failed.err
    assert "a library is missing" in failed.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--part", "nonsense"), "nonsense"),
        (("no-such-file.json",), "no-such-file.json"),
        (("no-such-framework",), "no-such-framework"),
    ],
)
def test_wrong_usage_is_refused(fidelity: Fidelity, arguments: tuple[str, ...], message: str) -> None:
    assert message in fidelity(*arguments, code=2).err
