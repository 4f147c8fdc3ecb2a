"""Answers of another server's cache, imported and found again."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
from support.bench import Bench
from support.servers import ServerProcess


def test_an_imported_answer_is_found_by_both_spellings_of_its_parameters(bench: Bench, tmp_path: Path) -> None:
    folder = tmp_path / "tool_response_cache" / "Data" / "stars_for_Data"
    folder.mkdir(parents=True)
    answer = {"error": "", "response": {"mass": 4711}}
    (folder / "by_name.json").write_text(json.dumps({"{'is_id': 'Vega', 'deep': True}": answer, "{broken": answer}))
    (folder / "torn.json").write_text("{")

    done = bench("data", "import-responses", "tool_response_cache", "--json")
    report = json.loads(done.out)
    assert (report["files"], report["new"], report["known"], len(report["problems"])) == (2, 1, 0, 2)
    assert "torn.json" in done.err
    assert "{broken" in done.err
    assert (
        "0 answers imported from 2 files, 1 were known" in bench("data", "import-responses", folder.parent.parent).out
    )

    server = ServerProcess(cache=tmp_path / ".trialbed" / "responses.db")
    try:
        for spelling in ("id", "is_id"):
            request = {
                "category": "Data",
                "tool_name": "Stars",
                "api_name": "By name",
                "strip": "",
                "toolbench_key": "",
            }
            reply = httpx.post(f"{server.url}/virtual", json=request | {"tool_input": {"deep": True, spelling: "Vega"}})
            assert reply.json() == answer
    finally:
        server.end()
