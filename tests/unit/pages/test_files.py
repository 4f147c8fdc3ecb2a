"""Pages about result files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from support.played_vendors import write_played

from trialbed.errors import UsageError
from trialbed_pages import create_app
from trialbed_pages.files import FilePages


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two vendors, and a file that nothing shows."""
    found = tmp_path_factory.mktemp("files")
    for seed, name in enumerate(("official", "acme")):
        write_played(found / f"{name}.jsonl", seed)
    (found / "other.json").write_text('{"anything": 1}', encoding="utf-8")
    return found


async def test_the_list_leads_to_every_page_and_each_is_shown(folder: Path, stored: Path, clients: Any) -> None:
    async with clients(create_app(str(stored), stored.parent, [folder])) as client:
        listed = (await client.get("/files")).text
        links = re.findall(r'href="(/files/[^"]+)"', listed)
        assert links == ["/files/vendors/verification"]
        for link in links:
            assert (await client.get(link)).status_code == 200, link
        assert 'href="/files"' in (await client.get("/")).text
        missing = await client.get("/files/vendors/nosuch")
    assert missing.status_code == 404
    assert "no such page about files" in missing.text


async def test_files_are_shown_without_a_store(folder: Path, tmp_path: Path, clients: Any) -> None:
    async with clients(create_app(str(tmp_path / "none.db"), tmp_path, [folder])) as client:
        assert (await client.get("/")).headers["location"] == "/files"


async def test_a_file_that_cannot_be_shown_is_explained_on_its_page(tmp_path: Path, clients: Any) -> None:
    path = write_played(tmp_path / "acme.jsonl", 1)
    path.write_text(path.read_text(encoding="utf-8") + "not JSON\n", encoding="utf-8")
    async with clients(create_app(str(tmp_path / "none.db"), tmp_path, [path])) as client:
        answer = await client.get("/files/vendors/verification")
    assert answer.status_code == 404
    assert "acme.jsonl, line 49: not JSON" in answer.text


def test_a_page_is_made_anew_once_its_file_has_changed(tmp_path: Path) -> None:
    path = write_played(tmp_path / "acme.jsonl", 1)
    pages = FilePages([tmp_path])
    first = pages.page("vendors", "verification")[1]
    assert pages.page("vendors", "verification")[1] is first
    write_played(path, 1, cases=30)
    os.utime(path, ns=(1, 1))
    assert pages.page("vendors", "verification")[1] != first


@pytest.mark.parametrize(("name", "said"), [("nosuch.jsonl", "no such file"), ("other.json", "nothing that can be")])
def test_a_file_that_nothing_shows_is_refused(folder: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        FilePages([folder / name]).check()
    FilePages([folder]).check()


async def test_files_without_rows_are_named(folder: Path, tmp_path: Path, clients: Any) -> None:
    (tmp_path / "late.jsonl").write_bytes(b"\n")
    async with clients(create_app(str(tmp_path / "none.db"), tmp_path, [folder, tmp_path])) as client:
        assert "late.jsonl has no rows" in (await client.get("/files")).text
    with pytest.raises(UsageError, match=r"late\.jsonl: has no rows"):
        FilePages([tmp_path / "late.jsonl"]).check()


async def test_pages_about_files_name_their_list_once_in_the_header(folder: Path, stored: Path, clients: Any) -> None:
    async with clients(create_app(str(stored), stored.parent, [folder])) as client:
        for path in ("/", "/files", "/files/vendors/verification"):
            header = (await client.get(path)).text.partition("</header>")[0]
            assert header.partition("<header>")[2].count(">Vendors<") == 1, path
