"""Runs are published, and their numbers are made again from the folder alone."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench, bare_environment, bench_in

from trialbed.records import Annotation
from trialbed.store import Store

pytestmark = pytest.mark.slow(20)

TASKS = '''
from trialbed import Expect, Task, call, tool

@tool
def price(item: str) -> dict:
    """The price of an item."""
    return {"price": len(item) * 7.5}

tasks = [
    Task("What does a lamp cost?", id="lamp", expect=Expect("30", calls=[call("price", item="lamp")])),
    Task("What does a chair cost?", id="chair", expect=Expect("37.5", calls=[call("price", item="chair")])),
]
'''


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "shop.py").write_text(TASKS)
    return bench_in(tmp_path, bare_environment(tmp_path))


def forge(folder: Path, change: Any) -> None:
    """Change the published numbers, and the digest in the manifest, as somebody would who wants to be believed."""
    path = folder / "numbers.json"
    numbers = json.loads(path.read_text())
    change(numbers[0])
    path.write_text(json.dumps(numbers))
    manifest = json.loads((folder / "published.json").read_text())
    manifest["files"]["numbers.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "published.json").write_text(json.dumps(manifest))


def test_published_numbers_are_made_again_elsewhere_and_a_forged_one_is_found(bench: Bench, tmp_path: Path) -> None:
    chosen = (
        "-f",
        "reference",
        "-f",
        "reference-messages",
        "--dataset",
        tmp_path / "shop.py",
        "--repeat",
        2,
        "--max-steps",
        5,
    )
    bench("run", *chosen, "--model", "scripted:wrong-args")
    with Store.open(str(tmp_path / ".trialbed/trialbed.db")) as store:
        said = Annotation(framework="reference", query_id="lamp", note="for us alone")
        store.annotate(store.find_run("latest").run_id, said)
    (tmp_path / "__pycache__").mkdir(exist_ok=True)  # as Python leaves it where it writes bytecode
    (tmp_path / "about.txt").write_text("A shop.\n\nOf two\nthings.\n")
    written = bench("publish", "latest", "-o", "out", "--dataset", "shop.py", "--about", "about.txt").out
    assert "recorded answers" in written
    page = next((tmp_path / "out/runs").iterdir()).read_text()
    assert "datasets/shop.py (shop)" in page
    assert "What does a lamp cost?" in page
    assert "for us alone" not in page, "notes on trials are not published"
    assert not [path for path in (tmp_path / "out").rglob("*.*") if bytes(tmp_path) in path.read_bytes()]

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(tmp_path / "out", elsewhere / "out")
    (tmp_path / "shop.py").unlink()
    shutil.rmtree(tmp_path / ".trialbed")
    there = bench_in(elsewhere, bare_environment(elsewhere))
    said = there("reproduce", "out", "--yes").out
    assert said == "8 trials replayed; every number is the published one; 5 of 5 files are the same\n"

    there("publish", "out", "-o", "again")
    for path in (elsewhere / "out").rglob("*.*"):
        assert path.read_bytes() == (elsewhere / "again" / path.relative_to(elsewhere / "out")).read_bytes()

    def better(run: Any) -> None:
        run["frameworks"][0]["scores"]["sopr_score"]["value"] = 1.0

    forge(elsewhere / "out", better)
    ended = there("reproduce", "out", "-f", "reference", "--yes", "--json", code=1)
    assert json.loads(ended.out)["differences"] == [
        f"{next((elsewhere / 'out/recordings').iterdir()).stem}, frameworks, reference, scores, sopr_score, value: "
        "1.0 → 0.0"
    ]
    (elsewhere / "again/numbers.json").write_text("none\n")
    assert "numbers.json was changed" in there("publish", "again", "-o", "third", code=2).err


def test_a_failure_is_published_without_the_folders_of_its_agent(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise RuntimeError(f'no file beside {__file__}')\n")
    bench("run", "--command", f"own={sys.executable} {tmp_path}/own.py", "--limit", 1)
    assert "cannot be made again" in (written := bench("publish", "latest", "-o", "out")).err
    assert "bench reproduce" not in written.err
    page = next((tmp_path / "out/runs").iterdir()).read_text()
    assert "no file beside …/own.py" in page
    assert not [path for path in (tmp_path / "out").rglob("*.*") if bytes(tmp_path) in path.read_bytes()]
