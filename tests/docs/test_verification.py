"""The guides to vendors can be followed, and the reference has every field that is written."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.warm import run_warm, warm_command

from trialbed_scripted import FAULTS
from trialbed_scripted.vendor import ANSWERS
from trialbed_verify.findings import CALL_REASONS, OUTCOMES, PROBLEMS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDE = DOCS / "how-to" / "verify-vendors.md"
VENDOR = DOCS / "how-to" / "write-a-plugin.md"
REFERENCE = (DOCS / "reference" / "verification.md").read_text(encoding="utf-8")
CASES = 24


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    lines = re.findall(r"^\$ bench (.+?)(?: &)?$", "\n".join(blocks(page, "console")), re.MULTILINE)
    return [shlex.split(line) for line in lines]


def section(title: str) -> str:
    """The part of the reference below a heading."""
    found = re.search(rf"^(#+) {re.escape(title)}$\n(.*?)(?=^#{{1,3}} |\Z)", REFERENCE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[2]


def first_cells(title: str) -> set[str]:
    """What the first cells of a section's table name."""
    rows = [line.split("|")[1] for line in section(title).splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def environment(folder: Path, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRIALBED_", "OPENAI_"))}
    return {**kept, "XDG_CACHE_HOME": str(folder / ".cache"), "NO_COLOR": "1", "COLUMNS": "110", **variables}


def bench(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_warm("trialbed", arguments, cwd=folder, env=environment(folder, **variables), timeout=120)


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[str]:
    """The URL of a server that is started as the guide says, but on a free port."""
    port = arguments.index("--port") + 1
    chosen = [*arguments[:port], "0", *arguments[port + 1 :]]
    command = warm_command([sys.executable, "-m", "trialbed", *chosen])
    with subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()
    assert server.returncode == 0


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the guide was followed with fewer cases, and what its verification printed."""
    folder = tmp_path_factory.mktemp("guide")
    (samples,) = (block for block in blocks(GUIDE, "python") if "make_samples.py" in block)
    exec(compile(samples.replace("range(200)", f"range({CASES})"), "make_samples.py", "exec"), {"open": opener(folder)})
    config = blocks(GUIDE, "yaml")[0]
    (folder / ".env").write_text(blocks(GUIDE, "text")[0])
    served = [command for command in commands(GUIDE) if command[0] == "serve" and "0" not in command]
    served = [command for command in served if "test_set" not in command[-1]]
    with ExitStack() as stack:
        for command in served:
            url = stack.enter_context(serving(folder, *command))
            config = config.replace(f"http://127.0.0.1:{command[2]}/v1", url)
        (folder / "config.yaml").write_text(config)
        done = bench(folder, *next(command for command in commands(GUIDE) if command[-2:] == ["--trials", "3"]))
    assert len(served) == 3
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def opener(folder: Path) -> Any:
    return lambda name, mode="r": (folder / name).open(mode)


def test_the_guide_can_be_followed(followed: tuple[Path, str]) -> None:
    folder, _ = followed
    summaries = [json.loads(path.read_text()) for path in sorted((folder / "data").glob("*_summary.json"))]
    assert [(found["vendor"], found["case_count"]) for found in summaries] == [
        (vendor, 3 * CASES) for vendor in ("acme", "bargain", "official")
    ]


def test_the_table_shown_is_the_one_printed(followed: tuple[Path, str]) -> None:
    def titles(text: str) -> list[str]:
        return [re.split(r"\s{2,}", line)[0] for line in text.split("──\n", 1)[1].split("\n\n")[0].splitlines()]

    shown = blocks(GUIDE, "text")[1]
    printed = titles(followed[1])
    kinds = ("failed: ", "wrong calls: ")  # as they happen to be among fewer cases
    assert {title for title in titles(shown) if not title.startswith(kinds)} <= set(printed)
    assert {title for title in printed if not title.startswith(kinds)} <= set(titles(shown))
    for title in re.findall(r"^(?:demo-model|vendor) .*$", shown, re.MULTILINE):
        assert title.split("  ")[0].split("(")[0].split(":")[0] in followed[1]


def test_every_key_of_a_row_is_described(followed: tuple[Path, str]) -> None:
    folder, _ = followed
    found: set[str] = set()
    for path in (folder / "data").glob("*_results.jsonl"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            found |= row.keys() | row["served"].keys()
            found |= {key for attempt in row["attempts"] for key in attempt}
            found |= {key for call in row["calls"] for key in call}
    described = set(re.findall(r"`([^`]+)`", section("Results")))
    assert found - described - {"status", "name"} == set()
    assert first_cells("Results") <= found


def test_every_key_of_a_summary_is_described(followed: tuple[Path, str]) -> None:
    folder, _ = followed
    keys = json.loads((folder / "data" / "demo-model_acme_summary.json").read_text()).keys()
    assert first_cells("Summary") == set(keys)


@for_each(
    ("title", "words"),
    [
        ("Outcomes", OUTCOMES),
        ("Problems", PROBLEMS),
        ("Calls", CALL_REASONS),
        ("Faults", {**FAULTS, **ANSWERS}),
    ],
)
def test_every_word_is_described(title: str, words: Any) -> None:
    assert set(words) <= first_cells(title)


def test_the_vendor_of_the_guide_is_a_driver(tmp_path: Path) -> None:
    (code,) = [block for block in blocks(VENDOR, "python") if block.startswith("# src/acme_vendor.py\n")]
    (config,) = blocks(VENDOR, "yaml")
    assert 'acme = "acme_vendor:AcmeVendor"' in "\n".join(blocks(VENDOR, "toml"))
    site = tmp_path / "site"
    metadata = site / "acme_vendor-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-vendor\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[trialbed.vendors]\nacme = acme_vendor:AcmeVendor\n")
    (site / "acme_vendor.py").write_text(code)
    (tmp_path / "samples.jsonl").write_text('{"messages": [{"role": "user", "content": "q"}]}\n')
    with serving(tmp_path, "serve", "--port", "0", "--faults", "none") as url:
        text = config.replace("name: moonshot", f"name: moonshot, url: '{url}'")
        (tmp_path / "config.yaml").write_text(text.replace("name: acme", f"name: acme, url: '{url}'"))
        command = next(command for command in commands(VENDOR) if command[0] == "verify")
        keys = {"moonshot": "any-word", "ACME_TOKEN": "any-word", "PYTHONPATH": str(site)}
        done = bench(tmp_path, *command, **keys)
    assert done.returncode == 0, done.stderr
    (row,) = map(json.loads, (tmp_path / "data" / "kimi-k2_acme_fast_results.jsonl").read_text().splitlines())
    assert row["request"]["model"] == "acme/kimi-k2-0905"
    assert row["request"]["routing"] == {"only": ["fast"]}
