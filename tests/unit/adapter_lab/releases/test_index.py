"""The releases on a page of an index."""

from __future__ import annotations

import json

import pytest
from support.cases import for_each

from trialbed.errors import DataError, NothingMeasured
from trialbed_adapter_lab.releases import indexes, published_releases, releases_on

FILES = [
    {"filename": "acme-1.10-py3-none-any.whl", "upload-time": "2026-01-03T00:00:00Z", "yanked": False},
    {"filename": "acme-1.10.tar.gz", "upload-time": "2026-01-02T00:00:00Z", "yanked": False},
    {"filename": "acme-1.9-py3-none-any.whl", "yanked": "broken\nimport"},
    {"filename": "acme-1.9.tar.gz", "yanked": "broken\nimport"},
    {"filename": "acme-2.0rc1-py3-none-any.whl", "yanked": True},
    {"filename": "acme-2.0rc1.tar.gz", "yanked": False},
    {"filename": "acme-1.11.tar.gz", "yanked": "broken"},
    {"filename": "acme-1.11-py3-none-any.whl"},
    {"filename": "acme_tools-9.0-py3-none-any.whl"},
    {"filename": "acme-windows.exe"},
    {"filename": f"acme-{'1.' * 500}0.tar.gz"},
]


def test_a_page_in_json_gives_each_release_once_in_order() -> None:
    """Without pre-releases, and withdrawn ones unless one of their files can still be had."""
    found = releases_on(json.dumps({"files": [*FILES, "nonsense"]}).encode(), "acme")
    assert [*found.items()] == [("1.10", "2026-01-02T00:00:00Z"), ("1.11", "")]


@for_each("page", [b'{"files": [', b"[]", b"<!DOCTYPE html><a>acme-1.0.tar.gz</a>"])
def test_a_page_that_is_cut_or_of_another_form_is_refused(page: bytes) -> None:
    with pytest.raises(DataError, match="page of acme is not a list of files in JSON"):
        releases_on(page, "acme")


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
