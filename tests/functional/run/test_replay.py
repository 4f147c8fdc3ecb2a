"""A run is recorded, and replayed without its model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench, bench_in

pytestmark = pytest.mark.slow(60)

TIMES = ("wall_time", "model_time", "tool_time", "framework_time", "waiting_time", "evaluation_time", "started_at")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path, {"HOME": str(tmp_path)})


def scores(document: dict[str, Any]) -> list[Any]:
    """What a document says of each trial, without times."""
    return [
        {name: value for name, value in entry["scores"].items() if name not in TIMES}
        | {"answer": entry["final_answer"]}
        for entry in document["results"]
    ]


def test_a_replay_needs_no_model_and_gives_what_the_model_gave(bench: Bench, tmp_path: Path) -> None:
    (recorded,) = json.loads(bench("run", "--model", "scripted:parallel", "--limit", 3, "--json").out)
    written = bench("record", "latest", "-o", "a.cassette").out
    assert "answers of scripted:parallel" in written
    first, second = (
        json.loads(bench("run", "--model", "replay:a.cassette", "--limit", 3, "--json", "-j", jobs).out)[0]
        for jobs in (1, 3)
    )
    assert scores(first) == scores(second) == scores(recorded)
    assert "3 of 3 trials follow the recording to the end" in bench("replay", "latest").out
    for entry in first["results"]:
        assert entry["scores"]["model_time"] is None
    assert len({first["metadata"]["run_id"], second["metadata"]["run_id"]}) == 2


def test_a_trial_that_leaves_the_recording_is_not_measured_and_says_why(bench: Bench) -> None:
    bench("run", "--model", "scripted:gold", "--limit", 2)
    bench("record", "latest", "-o", "a.cassette")
    ended = bench("run", "--model", "replay:a.cassette", "--limit", 2, "--temperature", 0.5, code=3)
    assert "is not the recorded one: temperature: 0 → 0.5" in ended.out + ended.err
    said = bench("replay", "latest").out
    assert "0 of 2 trials follow the recording to the end" in said
    assert "2 leave it, first at query 1, request 1 of 1: temperature: 0 → 0.5" in said
    assert (
        "there is neither a file 'b.cassette' nor such a run"
        in bench("run", "--model", "replay:b.cassette", code=2).err
    )
