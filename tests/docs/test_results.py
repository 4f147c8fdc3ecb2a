"""Our published results: unchanged, with pages as today's code makes them, and numbers that a replay gives again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bench import bench_in, own_environment
from support.frameworks import APART, FrameworkEnvironment
from support.trust import one_certificate

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PUBLISHED = [path.parent for path in sorted(RESULTS.glob("*/published.json"))]
REPLAYED = {"conversations": ("reference", "agno", "crewai:native", "langgraph:native")}
"""The setups that are replayed here of results with many: those of which the results say the most."""


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_what_is_committed_is_what_todays_code_publishes(folder: Path, docs: Path) -> None:
    again = docs / "results" / folder.name
    names = ("numbers.json", "published.json")
    stale = [name for name in names if (folder / name).read_bytes() != (again / name).read_bytes()]
    assert stale == [], "made by other code: python docs/generate.py"
    assert {"results.md", "index.html", "figures"} <= {path.name for path in again.iterdir()}
    assert f"({folder.name}/results.md)" in (docs / "results" / "index.md").read_text()


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_the_words_about_results_are_those_that_recording_them_again_would_publish(folder: Path) -> None:
    kept = (RESULTS.parents[1] / "benchmarks" / folder.name.replace("-", "_") / "about.txt").read_text()
    published = json.loads((folder / "published.json").read_text())
    assert published["about"] == [" ".join(part.split()) for part in kept.split("\n\n")]


@pytest.mark.slow(50)
@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_a_replay_through_frameworks_gives_every_number_and_file_again(
    folder: Path, tmp_path: Path, env_dir: Path, framework_environment: Callable[[str], FrameworkEnvironment]
) -> None:
    for framework in APART:
        framework_environment(framework)  # the last to use a network
    trusted = one_certificate(tmp_path / "certificate.pem")
    bench = bench_in(tmp_path, own_environment(SSL_CERT_FILE=str(trusted)), timeout=1200)
    some = [part for setup in REPLAYED.get(folder.name, ()) for part in ("--framework", setup)]
    said = bench("reproduce", folder, "--yes", "--env-dir", env_dir, *some).out
    made = len(json.loads((folder / "published.json").read_text())["made"])
    assert "every number is the published one" in said
    assert bool(some) or f"; {made} of {made} files are the same" in said
