"""The releases on a page of an index."""

from __future__ import annotations

import json

import pytest

from trialbed.errors import DataError, NothingMeasured
from trialbed_adapter_lab.releases import indexes, published_releases, releases_on

FILES = [
    {"filename": "acme-1.10-py3-none-any.whl", "upload-time": "2026-01-03T00:00:00Z", "yanked": False},
    {"filename": "acme-1.10.tar.gz", "upload-time": "2026-01-02T00:00:00Z", "yanked": False},
    {"filename": "acme-1.9-py3-none-any.whl", "yanked": "broken\nimport"},
    {"filename": "acme-1.9.tar.gz", "yanked": "broken\nimport"},
    {"filename": "acme-2.0rc1-py3-none-any.whl", "yanked": True},
    {"filename": "acme-2.0rc1.tar.gz", "yanked": False},
    {"filename": "acme_tools-9.0-py3-none-any.whl"},
    {"filename": "acme-windows.exe"},
    {"filename": f"acme-{'1.' * 500}0.tar.gz"},
]


def test_a_page_in_json_gives_each_release_once_in_order() -> None:
    found = releases_on(json.dumps({"files": [*FILES, "nonsense"]}).encode(), "acme")
    assert [one.version for one in found] == ["1.9", "1.10", "2.0rc1"]
    withdrawn, usual, early = found
    assert withdrawn.withdrawal == "1.9 (broken import)"
    assert (usual.withdrawal, f"{usual.published:%d}") == ("", "02")
    assert early.is_prerelease
    assert not early.withdrawal, "one of its files can still be had"


def test_a_page_in_html_says_the_same() -> None:
    page = """<a href="/files/acme-1.0-py3-none-any.whl#sha256=0">x</a>
    <a href="https://other/acme-1.1.tar.gz" data-yanked="a bug">y</a><a name="top">z</a>
    <a href="acme-1.2.tar.gz" data-yanked>z</a>"""
    found = releases_on(page.encode(), "acme")
    assert [(one.version, one.withdrawal) for one in found] == [("1.0", ""), ("1.1", "1.1 (a bug)"), ("1.2", "1.2")]


def test_a_page_that_is_cut_is_refused() -> None:
    with pytest.raises(DataError, match="not JSON"):
        releases_on(b'{"files": [', "acme")


def test_indexes_are_those_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    assert indexes() == ["https://pypi.org/simple"]
    monkeypatch.setenv("UV_INDEX", "own=https://one/simple https://two/simple?a=b")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://three/simple")
    assert indexes() == ["https://one/simple", "https://two/simple?a=b", "https://three/simple"]


def test_an_index_that_cannot_be_reached_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with another exit code than a release that changes something."""
    for variable in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(NothingMeasured, match=r"127\.0\.0\.1: its page of acme cannot be read: ConnectError"):
        published_releases("acme")
    assert NothingMeasured.exit_code == 3
