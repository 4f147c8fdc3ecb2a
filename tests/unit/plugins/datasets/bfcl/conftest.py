"""A stand-in for the wheel ``bfcl-eval``: its files, with cases of their form."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

AREA = {
    "name": "geometry.area",
    "description": "Area of a triangle",
    "parameters": {
        "type": "dict",
        "properties": {
            "base": {"type": "integer", "description": "in units"},
            "height": {"type": "float"},
            "unit": {"type": "string", "enum": ["m", "ft"]},
            "points": {"type": "array", "items": {"type": "dict"}},
        },
        "required": ["base", "height"],
    },
}
VALUES = {"base": [10], "height": [5.0, 5], "unit": ["m", ""], "points": ["", [{"x": [1, 2]}]]}

Row = dict[str, Any]


def row(number: str, *functions: Row, text: str = "What is the area?") -> Row:
    return {"id": number, "question": [[{"role": "user", "content": text}]], "function": list(functions)}


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site" / "bfcl_eval"
    data = folder / "data"
    (data / "possible_answer").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('its code must not run')")

    def write(name: str, *lines: Row) -> None:
        (data / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    write("BFCL_v4_simple_python.json", row("simple_python_0", AREA))
    write(
        "possible_answer/BFCL_v4_simple_python.json",
        {"id": "simple_python_0", "ground_truth": [{"geometry.area": VALUES}]},
    )
    write("BFCL_v4_irrelevance.json", row("irrelevance_0", AREA, text="Solve x² = 4"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    importlib.invalidate_caches()
    return data
