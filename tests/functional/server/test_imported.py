"""Answers of another server's cache, imported and found again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.servers import Serve, virtual

from trialbed.cli import main

STARS = {"category": "Data", "tool_name": "Stars", "api_name": "By name"}


async def test_an_imported_answer_is_found_by_both_spellings_of_its_parameters(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tool_response_cache" / "Data" / "stars_for_Data"
    folder.mkdir(parents=True)
    answer = {"error": "", "response": {"mass": 4711}}
    (folder / "by_name.json").write_text(json.dumps({"{'is_id': 'Vega', 'deep': True}": answer, "{broken": answer}))
    (folder / "torn.json").write_text("{")
    place = ["--response-cache", str(tmp_path / "responses.db")]

    assert main(["data", "import", str(folder.parent.parent), *place, "--json"]) == 0
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert (report["files"], report["new"], report["known"], len(report["problems"])) == (2, 1, 0, 2)
    assert "torn.json" in printed.err
    assert "{broken" in printed.err
    assert main(["data", "import", str(folder.parent.parent), *place]) == 0
    assert "0 answers imported from 2 files, 1 known before" in capsys.readouterr().out

    client = await serve()
    for spelling in ("id", "is_id"):
        reply = await client.post("/virtual", json=virtual({"deep": True, spelling: "Vega"}, **STARS))
        assert reply.json() == answer
