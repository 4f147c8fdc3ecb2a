"""The page about what was measured of frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.errors import DataError
from trialbed.views import Folded
from trialbed_adapter_lab.fidelity.viewer import FidelityViewer

MEASURED = Path(__file__).parents[4] / "docs" / "reference" / "fidelity.json"


def test_every_measured_part_is_a_table() -> None:
    assert FidelityViewer().recognises(MEASURED)
    (view,) = FidelityViewer().views([MEASURED])
    parts = view.parts()
    titles = [one.title for part in parts for one in (part.parts if isinstance(part, Folded) else [part])]
    for part in ("Tools as they are offered", "Tool schemas", "Prompt", "Behaviour"):
        assert any(title.startswith(part) for title in titles), part


def test_only_what_it_comes_to_is_unfolded() -> None:
    (view,) = FidelityViewer().views([MEASURED])
    assert [part.title for part in view.parts() if not isinstance(part, Folded)] == [
        "",
        "Tools as they are offered, and their calls",
        "What is added to the prompt of the model",
        "Requests after an error, and turns",
    ]


def test_a_file_that_only_looks_alike_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "fidelity.json"
    path.write_text('{"conditions": {}, "frameworks": []}', encoding="utf-8")
    (view,) = FidelityViewer().views([path])
    assert view.title == "Fidelity: fidelity"
    with pytest.raises(DataError, match="not a report of bench fidelity"):
        view.parts()


@pytest.mark.parametrize("text", ["", "[]", '{"conditions": {}}', "\x00"])
def test_other_files_are_not_recognised(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    assert not FidelityViewer().recognises(path)
