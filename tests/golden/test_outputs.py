"""Outputs of which the whole layout matters: how they read together, beside the figures that other tests hold.

``GOLDEN=update pytest tests/golden`` writes the texts anew.
"""

from __future__ import annotations

import io
import json
import os
import platform
import shlex
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from golden.loading import load_runs, write_vendors
from support.verification import summarised

from trialbed.catalogs import known_queries
from trialbed.cli import main
from trialbed.report import json_bytes, legacy_document, read_report
from trialbed.store import open_store
from trialbed.views import print_tables
from trialbed_pages import create_app
from trialbed_verify.tables import verification_tables

TEXTS = Path(__file__).parent / "texts"

COMMANDS = {
    "run": "show {mixed}",
    "run-legend": "show {mixed} --legend",
    "run-junit": "show {kinds} --format junit",
    "trial": "show {wrong-args} reference/3",
    "comparison": "compare {gold}/reference {partial} --force --legend",
    "plan": "plan {mixed}",
    "vendors": "compare official.jsonl acme.jsonl --legend",
    "ranking": "rank official.jsonl acme.jsonl shy.jsonl lossy.jsonl --baseline official",
    "calibration": "judge calibrate --judge rule",
}
RUNS = ("mixed", "kinds", "wrong-args", "gold", "partial", "own-scores")


def check(name: str, text: str) -> None:
    """Compare a text with the kept one, or keep it if texts are being updated."""
    path = TEXTS / f"{name}.txt"
    if os.environ.get("GOLDEN") == "update":
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def ids(folder: Path) -> dict[str, str]:
    """The stored runs, by name."""
    (folder / ".trialbed").mkdir()
    return load_runs(str(folder / ".trialbed" / "trialbed.db"), RUNS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the result files of vendors."""
    found = tmp_path_factory.mktemp("golden")
    write_vendors(found)
    return found


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name in ("COLUMNS", "TRIALBED_STORE", "TRIALBED_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRIALBED_DATA_DIR", str(folder / "data"))


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str, ids: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(shlex.split(COMMANDS[name].format(**ids)))
    out, err = capsys.readouterr()
    check(name, f"$ bench {COMMANDS[name]}\nexit code {code}\n{out}{err}")


def test_the_document_of_a_framework(ids: dict[str, str], folder: Path) -> None:
    with open_store(str(folder / ".trialbed" / "trialbed.db")) as reader:
        run = reader.run(ids["kinds"])
        report = read_report(run, known_queries(run.config, folder / "data"), allow_incomplete=True)
        document = legacy_document(report, "omega")
    failed, *_, answered = document["results"]
    check("document", json_bytes({**document, "results": [failed, answered]}).decode())


def test_the_predictions_of_a_framework(ids: dict[str, str], folder: Path) -> None:
    assert main(["export", ids["wrong-args"], "--format", "stabletoolbench", "--output", "predictions"]) == 0
    check("predictions", (folder / "predictions" / "reference" / "mini.json").read_text(encoding="utf-8"))


async def test_the_page_of_a_run(ids: dict[str, str], folder: Path) -> None:
    app = create_app(str(folder / ".trialbed" / "trialbed.db"), folder / "data")
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://pages") as client,
    ):
        answer = await client.get(f"/runs/{ids['mixed']}")
    assert answer.status_code == 200
    check("page", answer.text)


def test_the_table_of_a_verification(folder: Path, tmp_path: Path) -> None:
    found = []
    for name in ("official", "acme"):
        rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        found.append(summarised(tmp_path, *rows, is_baseline=name == "official", vendor=name))
    stream = io.StringIO()
    print_tables(verification_tables(found), stream)
    here = {version("trialbed"): "VERSION", platform.python_version(): "PYTHON", platform.platform(): "SYSTEM"}
    text = stream.getvalue()
    for value, name in here.items():
        text = text.replace(value, name)
    check("verification", text)
