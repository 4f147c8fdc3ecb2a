"""Regression texts of the outputs: what users see is what is kept in ``texts``.

``GOLDEN=update pytest tests/golden`` writes the texts anew.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import httpx
import pytest
from golden.cases import CHANGING, LIVE, ON_STORED_RUNS, ON_VENDOR_FILES, RUNS
from golden.loading import load_runs, write_files
from golden.texts import RUN_ID, check, without_measurements, without_places
from support.bench import bench_in, own_environment
from support.served_pages import served_pages

from trialbed.store import Store

pytestmark = pytest.mark.slow(30)

PLUGIN = """
from trialbed import Score, ScoreDescription, hookimpl

@hookimpl
def describe_scores():
    return [
        ScoreDescription("politeness", meaning="how often it said please"),
        ScoreDescription("boot_time", unit="ms", meaning="until the program was ready", bounded=False),
    ]

@hookimpl
def score_trial(context):
    return [
        Score(name="politeness", value=0.75, detail={"reason": "it said please"}),
        Score(name="boot_time", value=120.0, bounded=False),
    ]

@hookimpl
def aggregate_scores(run, results):
    return {"own_figure": len(results)}
"""
PAGES = {
    "listing": "/",
    "listing-filtered": "/?framework=alpha&status=finished",
    **{f"run-{name}": f"/runs/{{{name}}}" for name in ("mixed", "kinds", "own_scores", "unmeasured", "faults")},
    "run-score": "/runs/{mixed}?score=api_call_score",
    "differences": "/runs/{mixed}/differences",
    "queries": "/runs/{mixed}/queries",
    "queries-worst": "/runs/{kinds}/queries?show=failed&sort=worst",
    "trial": "/runs/{wrong_args}/trial?framework=reference&query=3",
    "trial-failed": "/runs/{kinds}/trial?framework=omega&query=2",
    "trial-attempt": "/runs/{interrupted}/trial?framework=alpha:native&query=1&attempt=1",
    "pair": "/runs/{mixed}/pair?left=reference&right=alpha:native&query=9&repeat=0",
    "pair-repeats": "/runs/{mixed}/pair?left=beta:controlled&right=beta:controlled&query=9&repeat=0&other=1",
    "body": "/runs/{gold}/body?framework=reference&query=2&kind=request&place=1",
    "no-run": "/runs/1999",
    "no-page": "/nothing",
    "files": "/files",
    "style": "/static/pages.css",
}


def variables(folder: Path, **more: str) -> dict[str, str]:
    found = own_environment(
        TRIALBED_DATA_DIR=str(folder / "data"), XDG_CACHE_HOME=str(folder / "cache"), TZ="UTC", **more
    )
    return {name: value for name, value in found.items() if "KEY" not in name and name != "COLUMNS"}


class Commands:
    """Runs command lines in a folder; each adds what it gave to the text of its case."""

    def __init__(self, folder: Path, *, measured: bool = False, **more: str) -> None:
        self.folder = folder
        self._bench = bench_in(folder, variables(folder, **more), timeout=120)
        self._measured = measured
        self._places = {
            str(folder): "/folder",
            str(ROOT): "/checkout",
            more.get("TRIALBED_STORE", "no store"): "STORE",
        }

    def run(self, line: str, **places: str) -> str:
        """The command line, its exit code, what it printed and the files it wrote."""
        before = self._files()
        done = self._bench(*shlex.split(line.format(**RUNS, **places)), code=None)
        assert "Traceback (most recent call last)" not in done.err
        written = {name: text for name, text in self._files().items() if before.get(name) != text}
        # The order of the scores of a comparison is that of a set.
        is_comparison = line.startswith("compare") and done.out.startswith(("{", "["))
        out = json.dumps(json.loads(done.out), indent=2, sort_keys=True) if is_comparison else done.out
        parts = {"stdout": out, "stderr": done.err, **{f"file {name}": written[name] for name in sorted(written)}}
        texts = "".join(f"--- {name}\n{self._steady(text)}" for name, text in parts.items() if text)
        return f"$ bench {line}\nexit code {done.code}\n{texts}\n"

    def _steady(self, text: str) -> str:
        text = without_places(text, self._places)
        return without_measurements(text) if self._measured else text + "\n" * (not text.endswith("\n"))

    def _files(self) -> dict[str, str]:
        """The texts below the folder but those of the state and copies of result documents."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        names = {path.relative_to(self.folder).as_posix(): path for path in found}
        left_out = re.compile(rf"\.trialbed/|cache/|data/|.*{RUN_ID.pattern[2:]}")
        kept = {name: path for name, path in names.items() if not left_out.match(name)}
        return {name: path.read_text(encoding="utf-8") for name, path in kept.items()}


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store of all runs, which nobody changes."""
    store = tmp_path_factory.mktemp("stored") / ".trialbed" / "trialbed.db"
    store.parent.mkdir()
    load_runs(str(store))
    return store


@pytest.fixture
def beside_store(stored: Path, tmp_path: Path) -> Path:
    """A folder with a copy of the store, and all files."""
    shutil.copytree(stored.parent, tmp_path / ".trialbed")
    write_files(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ON_STORED_RUNS)
def test_commands_on_stored_runs(name: str, stored: Path, tmp_path: Path) -> None:
    write_files(tmp_path)
    commands = Commands(tmp_path, measured=name.startswith("select"), TRIALBED_STORE=str(stored))
    check(f"stored/{name}", commands.run(ON_STORED_RUNS[name]))


@pytest.mark.parametrize("name", ON_VENDOR_FILES)
def test_commands_on_files(name: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    check(f"files/{name}", Commands(tmp_path).run(ON_VENDOR_FILES[name]))


@pytest.mark.parametrize("name", CHANGING)
def test_commands_that_change_the_store(name: str, beside_store: Path) -> None:
    commands = Commands(beside_store)
    check(f"changing/{name}", "\n".join(map(commands.run, CHANGING[name])))


@pytest.mark.parametrize("name", LIVE)
def test_runs(name: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    more = {"PYTHONPATH": str(_site(tmp_path))} if name == "own-score" else {}
    commands = Commands(tmp_path, measured=True, **more)
    check(f"live/{name}", "\n".join(map(commands.run, LIVE[name])))


def test_parquet(beside_store: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    commands = Commands(beside_store)
    commands._bench("export", RUNS["own_scores"], "--format", "parquet", "--output", ".trialbed/own.parquet")
    table = parquet.read_table(beside_store / ".trialbed" / "own.parquet")
    rows = "\n".join(json.dumps(row, default=str, ensure_ascii=False) for row in table.to_pylist())
    check("stored/export-parquet", f"{table.schema.to_string(show_schema_metadata=False)}\n{rows}\n")


def test_pages(stored: Path, tmp_path: Path) -> None:
    write_files(tmp_path)
    files = [tmp_path / f"{name}.jsonl" for name in ("official", "acme", "shy", "k2-a")]
    with Store.open(str(stored)) as store:
        ids = {name: run.run_id for name, begin in RUNS.items() for run in store.runs() if run.run_id.startswith(begin)}
    found = {}
    with served_pages(stored, tmp_path / "data", files) as url, httpx.Client(base_url=url, timeout=60) as client:
        for name, path in PAGES.items():
            found[name] = _page(client, path.format(**ids), tmp_path, stored)
        for number, path in enumerate(re.findall(r'href="(/files/[^"]+)"', found["files"])):
            found[f"file-{number}"] = _page(client, path, tmp_path, stored)
    for name, text in found.items():
        check(f"pages/{name}", text)


def _page(client: httpx.Client, path: str, folder: Path, store: Path) -> str:
    answer = client.get(path)
    head = f"GET {path}\nstatus {answer.status_code}\n{answer.headers['content-type']}\n\n"
    return without_places(head + answer.text, {str(folder): "/folder", str(store): "STORE"})


ROOT = Path(__file__).parents[2]


def _site(folder: Path) -> Path:
    """A folder for ``PYTHONPATH`` with an installed plugin that scores trials."""
    site = folder / "cache" / "site"
    metadata = site / "acme_scores-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "acme_scores.py").write_text(PLUGIN)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-scores\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[trialbed.plugins]\nacme = acme_scores\n")
    return site
