"""The wire-fault atlas: each row as ``bench verify`` reports it, whole and streamed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.odd_vendor import Row, kinds
from support.once import Once
from support.verification import TOOL, rows, target, verify

from trialbed_scripted import ScriptedServer, serve
from trialbed_scripted.faults import atlas

FORMS: dict[str, dict[str, Any]] = {"whole": {}, "stream": {"stream": True, "stream_options": {"include_usage": True}}}


@pytest.fixture(scope="module")
def answers(once: Once) -> dict[str, dict[str, Row]]:
    """Return the row of each fault, by form and name."""

    def fill(folder: Path) -> None:
        with serve(faults="atlas") as server:
            found = {form: asyncio.run(verify_all(server, folder / form, fields)) for form, fields in FORMS.items()}
        (folder / "rows.json").write_text(json.dumps(found))

    found: dict[str, dict[str, Row]] = json.loads((once("wire faults", fill) / "rows.json").read_text())
    return found


async def verify_all(server: ScriptedServer, folder: Path, fields: dict[str, Any]) -> dict[str, Row]:
    """Verify every row of the atlas; those that need the same request together."""
    found = {}
    requests = {json.dumps(row.get("request", {})) for row in atlas().values()}
    for number, request in enumerate(sorted(requests)):
        names = [name for name, row in atlas().items() if json.dumps(row.get("request", {})) == request]
        place = folder / str(number)
        place.mkdir(parents=True)
        case = {"messages": [{"role": "user", "content": "Oslo?"}], "tools": [TOOL], **json.loads(request), **fields}
        (place / "set.jsonl").write_text(json.dumps(case) + "\n")
        targets = [replace(target(f"{server.origin}/{name}/v1", place / name), name=name) for name in names]
        await verify(place / "set.jsonl", *targets, retries=0)
        found |= {name: rows(place / name / "results.jsonl")[0] for name in names}
    return found


@for_each("name", atlas())
def test_verify_reports_what_the_atlas_says(name: str, answers: dict[str, dict[str, Row]]) -> None:
    finds = atlas()[name]["finds"]
    for form in FORMS:
        row = answers[form][name]
        reported = kinds(row) | ({row["problem"]["kind"]} if row["problem"] else set())
        assert reported == set(finds[form] if isinstance(finds, dict) else finds), form
