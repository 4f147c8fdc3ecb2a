"""Files that ``bench fidelity --output`` wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbed.cli import main
from trialbed.errors import DataError
from trialbed.views import Folded
from trialbed_adapter_lab.fidelity.viewer import FidelityViewer

MEASURED = Path(__file__).parents[4] / "docs" / "reference" / "fidelity.json"


def test_a_file_is_shown_and_written_again_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = tmp_path / "again.json"
    assert main(["fidelity", str(MEASURED), "--output", str(again)]) == 0
    assert "langgraph:native" in capsys.readouterr().out
    assert json.loads(again.read_text()) == json.loads(MEASURED.read_text())


def test_some_parts_of_a_file_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", str(MEASURED), "--part", "calls", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["conditions"]["themes"] == ["calls"]
    assert {one["theme"] for adapter in document["adapters"] for one in adapter["report"]["findings"]} == {"calls"}


def test_a_file_is_shown_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", str(MEASURED), "langgraph"]) == 2
    assert f"{MEASURED}: a file is shown alone; leave out the other names" in capsys.readouterr().err


def test_a_page_unfolds_each_theme() -> None:
    viewer = FidelityViewer()
    assert viewer.recognises(MEASURED)
    (view,) = viewer.views([MEASURED])
    assert view.title == "Fidelity: fidelity"
    parts = view.parts()
    assert [part.title for part in parts if not isinstance(part, Folded)] == ["", "Checks passed, and first figures"]
    assert {"Calls", "Schemas"} <= {part.title for part in parts if isinstance(part, Folded)}


def test_a_file_that_cannot_be_read_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"conditions": {}, "adapters": []}', encoding="utf-8")
    assert FidelityViewer().recognises(path)
    (view,) = FidelityViewer().views([path])
    with pytest.raises(DataError, match="not a report of bench fidelity --output: Field required"):
        view.parts()


@pytest.mark.parametrize("text", ["", "[]", '{"conditions": {}}', "\x00"])
def test_other_files_are_not_recognised(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    assert not FidelityViewer().recognises(path)
