"""The folder of published results: written whole, checked by digests."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from unit.pages.publishing.test_page import run

from trialbed.errors import DataError
from trialbed_pages.publishing._folder import made_files, read_numbers, write_publication
from trialbed_pages.publishing._manifest import PublicationManifest, RunSource, check_unchanged, read_manifest

HOSTILE = "<script>alert(1)</script>![x](http://evil)"


def manifest(**more: object) -> PublicationManifest:
    source = RunSource(
        name="first",
        began="2026-11-26 16:00 UTC",
        trialbed="0.1.0",
        model="local:small",
        identity="gguf 1234",
        dataset="datasets/harbour.py",
        recording="recordings/first.cassette",
        answers=3,
        arguments=("--framework", "reference"),
        environments={},
    )
    return PublicationManifest(runs=(source,), **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "out"
    write_publication(place, manifest(), [run()], {"recordings/first.cassette": b"answers"})
    return place


def test_pages_and_figures_follow_from_the_numbers_and_the_manifest(folder: Path) -> None:
    there = read_manifest(folder)
    check_unchanged(folder, there)
    evidence = there.model_copy(update={"files": there.kept, "made": ()})
    made = made_files(evidence, read_numbers(folder))
    assert {name: (folder / name).read_bytes() for name in there.made} == made
    assert set(there.kept) == {"recordings/first.cassette"}


def test_a_changed_or_missing_file_is_refused_by_its_name_and_the_folder_is_not_replaced(folder: Path) -> None:
    (folder / "losses.csv").write_text("other\n")
    (folder / "recordings/first.cassette").unlink()
    with pytest.raises(DataError, match=r"losses.csv was changed; recordings/first.cassette is missing"):
        check_unchanged(folder, read_manifest(folder))
    with pytest.raises(DataError, match="is not as it was published"):
        write_publication(folder, manifest(), [run()], {})
    assert (folder / "losses.csv").read_text() == "other\n"


def test_a_new_publication_replaces_the_files_of_the_earlier_one_and_leaves_others(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    write_publication(folder, manifest(), [run("second")], {"recordings/second.cassette": b"others"})
    assert sorted(path.name for path in (folder / "recordings").iterdir()) == ["second.cassette"]
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_manifest_names_no_file_outside_of_its_folder(folder: Path) -> None:
    document = json.loads((folder / "published.json").read_text())
    document["files"]["../secret"] = "0"
    (folder / "published.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"'../secret' is not a file of the folder"):
        read_manifest(folder)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]
        assert tag not in ("script", "iframe", "form", "base", "link")


def test_the_page_needs_no_server_and_its_links_lead_to_files_of_the_folder(folder: Path) -> None:
    page, links = (folder / "index.html").read_text(), _Links()
    links.feed(page)
    outside = [link for link in links.found if not link.startswith("#")]
    assert outside
    assert [link for link in outside if not (folder / link).is_file()] == []
    assert "default-src 'none'" in page
    assert page.index("solve from 25 %") < page.index("<h2>")


def test_words_of_others_stay_text(tmp_path: Path) -> None:
    hostile = run().model_copy(update={"model": HOSTILE})
    made = made_files(manifest(about=(HOSTILE,)), [hostile])
    assert b"<script>" not in made["index.html"]
    assert not re.search(rb"(?<!\\)<script|(?<!\\)\]\(http", made["results.md"])


def test_the_text_shows_the_figures_by_relative_paths(folder: Path) -> None:
    text = (folder / "results.md").read_text()
    shown = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert len(shown) == 3
    assert all((folder / path).is_file() for path in shown)
    assert "bench reproduce ." in text
