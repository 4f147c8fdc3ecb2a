"""How long the pages of a large run take, cold and warm, and `bench runs` and `bench show` of it.

    python benchmarks/pages.py [--trials 100000]

Writes a store of that many trials of six frameworks into a temporary folder, and asks for each page twice in this
process. The commands are started, so their times are with that of the start; their memory is the most that any took.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
from fastapi.testclient import TestClient

from trialbed.records import (
    Answer,
    Outcome,
    Run,
    RunConfig,
    Score,
    Timing,
    TrialKey,
    TrialResult,
    WireLog,
)
from trialbed.store import Store
from trialbed_pages import create_app

FRAMEWORKS = tuple(f"framework-{number}" for number in range(6))
NAMES = ("sopr_score", "api_call_score", "argument_accuracy", "total_tokens", "wall_time", "model_time", "tool_time")
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
RUN = "20260101T000000-000000"


def trial(framework: str, query: int, repeat: int) -> TrialResult:
    value = float((query * 7 + repeat) % 3 == 0)
    bounded = {name: not name.endswith(("_time", "_tokens")) for name in NAMES}
    return TrialResult(
        trial=f"{framework}-{query}-{repeat}",
        key=TrialKey(framework=framework, query_id=query, repeat=repeat),
        seed=0,
        outcome=Outcome(started_at=WHEN, wall_time=1.0, answer=Answer(final_answer="", finish="give_answer")),
        wire=WireLog(trial="t", opened_at=WHEN),
        timing=Timing(wall=1.0, model=0.5, tool=0.3, framework=0.2),
        selected_tools=(),
        scores=tuple(Score(name=name, value=value, bounded=bounded[name]) for name in NAMES),
    )


def fill(path: Path, trials: int) -> None:
    queries = range(trials // (4 * len(FRAMEWORKS)))
    config = RunConfig(
        frameworks=FRAMEWORKS,
        adapter_versions=dict.fromkeys(FRAMEWORKS, "1"),
        dataset="nowhere",
        test_set="nowhere",
        dataset_digest="0" * 64,
        query_ids=tuple(queries),
        repeat=4,
        trialbed_version="0",
    )
    run = Run(run_id=RUN, config=config, config_digest=RUN, status="finished", created_at=WHEN, environment_digest="e")
    with Store.open(str(path)) as store:
        store.create_run(run)
        for query in queries:
            for framework in FRAMEWORKS:
                for repeat in range(4):
                    store.add_trial(RUN, trial(framework, query, repeat))


def timed(client: TestClient, path: str) -> tuple[float, httpx.Response]:
    began = time.perf_counter()
    answer = client.get(path)
    answer.raise_for_status()
    return time.perf_counter() - began, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100_000)
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trials.db")
        fill(path, trials)
        client = TestClient(create_app(str(path), Path(folder)))
        pages = ("/", f"/runs/{RUN}", f"/runs/{RUN}/differences", f"/runs/{RUN}/queries?sort=worst")
        for page in (*pages, f"/runs/{RUN}/trial?framework=framework-1&query=7"):
            (cold, answer), (warm, _) = timed(client, page), timed(client, page)
            print(f"{page:<60} cold {cold:6.2f} s, warm {warm * 1000:6.1f} ms, {len(answer.content):,} bytes")
        for command in (("runs",), ("show", RUN, "framework-1/7"), ("show", RUN)):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "trialbed", *command, "--store", str(path)],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            took, most = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            print(f"bench {' '.join(command):<54} {took:6.2f} s, {most // 1024:,} MB")


if __name__ == "__main__":
    main()
