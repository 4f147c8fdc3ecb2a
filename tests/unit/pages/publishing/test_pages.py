"""Pages about results files are published beside runs, as ``bench view`` shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.played_vendors import rows, write_played

from trialbed.cli import main
from trialbed_pages.files import FilePage

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write_played(folder / "official.jsonl", 0)
    hostile = "".join(f"{json.dumps(row)}\n" for row in rows(24, 2, 1, vendor=SCRIPT))
    (folder / "acme.jsonl").write_text(hostile, encoding="utf-8")
    (folder / "late.jsonl").write_text("\n", encoding="utf-8")
    return folder


def test_a_folder_of_results_is_published_as_its_page(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["publish", str(results), "-o", str(out)]) == 0
    said = capsys.readouterr().err
    assert "late.jsonl has no rows" in said
    assert "bench reproduce" not in said, "there is nothing to replay"
    (page,) = (out / "runs").iterdir()
    content = FilePage([results]).render()[1]
    assert "compared with" in content
    assert str(content.split("</h2>")[2]) in page.read_text(encoding="utf-8")
    index, text = ((out / name).read_text(encoding="utf-8") for name in ("index.html", "results.md"))
    for shown in (page.name, "official.jsonl"):
        assert shown in index
        assert shown in text
    for published in (page.read_text(encoding="utf-8"), index, text):
        assert SCRIPT not in published
        assert str(tmp_path) not in published
    # A published folder can be published again, and a page that was changed is refused.
    assert main(["publish", str(out), "-o", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "index.html").read_bytes() == (out / "index.html").read_bytes()
    page.write_text("another", encoding="utf-8")
    assert main(["publish", str(out), "-o", str(tmp_path / "again")]) == 2


def test_requests_that_were_not_sent_are_named(results: Path) -> None:
    summary = {"not_sent": 7, "provenance": {"configuration_digest": "official"}}
    (results / "official_summary.json").write_text(json.dumps(summary), encoding="utf-8")
    content = FilePage([results]).render()[1]
    assert content.count("7 requests not sent") == 1


def test_a_page_with_a_key_is_not_published(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "parrot-7f3a9c51-parrot"
    monkeypatch.setenv("PARROT_API_KEY", key)
    path = results / "official.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("ended early", key), encoding="utf-8")
    published = main(["publish", str(results), "-o", str(tmp_path / "out")]) == 0
    files = (tmp_path / "out").rglob("*.*") if published else ()
    assert not [file for file in files if key in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", ["late.jsonl", "none"])
def test_results_without_rows_are_refused(
    results: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (results / "none").mkdir()
    assert main(["publish", str(results / name), "-o", str(tmp_path / "out")]) == 2
    assert name in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
