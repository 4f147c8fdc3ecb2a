"""From requests on the wire to a comparison and a ranking."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.verification import target, verify, written_set

from trialbed_scripted import serve

pytestmark = pytest.mark.slow

CASES = 80
PACE = '"gap": 0.003'
"""Slow enough for a rate of tokens."""
SCRIPTS = {
    "official": f'{{"answers": {{{PACE}}}}}',
    "faithful": f'{{"answers": {{{PACE}}}}}',
    "dead": "status:500",
    "inverted": f'{{"answers": {{"invert": true, {PACE}}}}}',
    "cut": "cut_stream",
    "careless": f'{{"steps": ["bad_arguments"], "answers": {{{PACE}}}}}',
}
TRIALS = {"official": 2}


@pytest.fixture
async def verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The results of six vendors, as ``NAME=FILE``."""
    monkeypatch.setattr("trialbed_verify.verification.sending.PROBE_DELAY", 0.01)
    file = written_set(tmp_path / "set.jsonl", CASES, stream=True)
    for name, script in SCRIPTS.items():
        async with serve(faults=script) as server:
            trials = TRIALS.get(name, 1)
            await verify(file, target(server.url, tmp_path / name), trials=trials, retries=0, request_concurrency=8)
    return [f"{name}={tmp_path / name / 'results.jsonl'}" for name in SCRIPTS]


@pytest.fixture
def printed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Runs ``bench`` to its end; what it printed as JSON."""

    async def run(*arguments: object) -> Any:
        process = command(*arguments, "--json")
        out, err = await asyncio.to_thread(process.communicate, None, 120)
        assert process.returncode == 0, err
        return json.loads(out)

    return run


async def test_verified_vendors_are_ranked(verified: list[str], printed: Callable[..., Any]) -> None:
    (standing,) = (await printed("rank", *verified, "--baseline", "official"))["models"]
    assert {row["vendor"] for row in standing["ranked"]} == {"official", "faithful"}
    # Who calls a tool every time decides nothing.
    assert [(row["vendor"], row["rank"]) for row in standing["behind"]] == [("inverted", 3), ("careless", 3)]
    reasons = {row["vendor"]: "; ".join(row["reasons"]) for row in standing["not_ranked"]}
    assert set(reasons) == {"dead", "cut"}
    assert "results.jsonl lacks " in reasons["dead"]
    assert "success rate 0.0000 is below 0.9" in reasons["dead"]
    assert "100.0 % of its answers break the protocol" in reasons["cut"]
    faithful = next(row for row in standing["ranked"] if row["vendor"] == "faithful")
    assert faithful["metrics"]["f1"]["value"] == 1.0
    assert all(found["value"] is not None for found in faithful["metrics"].values())
