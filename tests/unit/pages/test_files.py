"""Pages about result files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.played_vendors import write_played

from trialbed.errors import UsageError
from trialbed_pages import create_app
from trialbed_pages.files import FilePage


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two vendors, and a file that nothing shows."""
    found = tmp_path_factory.mktemp("files")
    for seed, name in enumerate(("official", "acme")):
        write_played(found / f"{name}.jsonl", seed)
    (found / "other.json").write_text('{"anything": 1}', encoding="utf-8")
    return found


async def test_all_files_are_on_one_page_which_the_others_name_once(
    folder: Path, stored: Path, tmp_path: Path, clients: Any
) -> None:
    async with clients(create_app(str(stored), stored.parent, [folder])) as client:
        pages = [(await client.get(path)).text for path in ("/", "/files")]
    assert "<h1>acme and official compared</h1>" in pages[1]
    for page in pages:
        assert page.partition("</header>")[0].partition("<header>")[2].count(">Vendors<") == 1
    assert 'href="/files"' in pages[0]
    # Without a store, too.
    async with clients(create_app(str(tmp_path / "none.db"), tmp_path, [folder])) as client:
        assert (await client.get("/")).headers["location"] == "/files"


async def test_a_file_that_cannot_be_shown_is_explained_on_its_page(tmp_path: Path, clients: Any) -> None:
    path = write_played(tmp_path / "acme.jsonl", 1)
    path.write_text(path.read_text(encoding="utf-8") + "not JSON\n", encoding="utf-8")
    async with clients(create_app(str(tmp_path / "none.db"), tmp_path, [path])) as client:
        answer = await client.get("/files")
    assert answer.status_code == 404
    assert "acme.jsonl, line 49: not JSON" in answer.text


def test_a_page_is_made_anew_once_its_file_has_changed(tmp_path: Path) -> None:
    path = write_played(tmp_path / "acme.jsonl", 1)
    page = FilePage([tmp_path])
    _, first = page.render()
    assert page.render()[1] is first
    write_played(path, 1, cases=30)
    os.utime(path, ns=(1, 1))
    assert page.render()[1] != first


async def test_files_that_cannot_be_shown_are_refused_and_those_without_rows_are_named(
    folder: Path, tmp_path: Path, clients: Any
) -> None:
    late = tmp_path / "late.jsonl"
    late.write_bytes(b"\n")
    refused = {folder / "nosuch.jsonl": "no such file", folder / "other.json": "not a results file"}
    for path, said in {**refused, late: r"late\.jsonl: has no rows"}.items():
        with pytest.raises(UsageError, match=said):
            FilePage([path]).check()
    FilePage([folder]).check()
    async with clients(create_app(str(tmp_path / "none.db"), tmp_path, [folder, tmp_path])) as client:
        assert "late.jsonl has no rows" in (await client.get("/files")).text
    (empty := tmp_path / "empty").mkdir()
    async with clients(create_app(str(tmp_path / "none.db"), tmp_path, [empty])) as client:
        assert "No file of <code>bench verify</code> is there." in (await client.get("/files")).text
