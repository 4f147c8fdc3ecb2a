"""What the import of a response cache says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbed.cli import main


def test_a_long_key_that_cannot_be_imported_is_shown_shortened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tool_response_cache" / "Data" / "tool_for_Data" / "api.json"
    file.parent.mkdir(parents=True)
    answer = {"error": "", "response": "x"}
    file.write_text(json.dumps({"[" * 5000: answer, "short": answer, "{}": answer}))
    arguments = ["data", "import", str(tmp_path), "--response-cache", str(tmp_path / "responses.db")]
    assert main(arguments) == 0
    told = capsys.readouterr().err
    assert f"{file}: {'[' * 200}… (5,000 characters): " in told
    assert f"{file}: short: " in told
    assert "[" * 201 not in told
