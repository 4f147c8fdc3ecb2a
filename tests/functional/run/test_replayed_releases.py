"""A run that was recorded with one release of two frameworks, and replayed with another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.bench import bench_in, own_environment

pytestmark = pytest.mark.slow(60)

NEW = ("langgraph", "agno")
OLD = ("langgraph==1.0.0", "agno==2.0.0")
"""The second sends its instructions in another form, which the first request shows."""


def test_another_release_is_followed_or_its_first_difference_is_named(tmp_path: Path, env_dir: Path) -> None:
    bench = bench_in(tmp_path, own_environment(), timeout=1200)

    def run(frameworks: tuple[str, ...], *options: object, code: int = 0) -> list[dict[str, object]]:
        flags = [flag for name in frameworks for flag in ("-f", name)]
        given = ("--limit", 1, "--yes", "--env-dir", env_dir, "--json")
        documents: list[dict[str, object]] = json.loads(bench("run", *flags, *given, *options, code=code).out)
        return documents

    run(NEW)
    bench("record", "latest", "-o", "a.cassette")
    run(OLD, "--model", "replay:a.cassette", code=3)
    trials = json.loads(bench("replay", "latest", "--json").out)
    followed = {trial["framework"].split(":")[0] for trial in trials if trial["left_at"] is None}
    assert followed == {"langgraph"}
    assert len(trials) == 2
    for trial in trials:
        if trial["left_at"] is not None:
            assert trial["difference"]["path"] == "messages[0].content"
            assert "<instructions>" in trial["difference"]["asked"]
