from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.catalogs import ApiCatalog, StoredApis, open_documents
from trialbed.errors import DataError
from trialbed.records import Api


def api(name: str, **more: object) -> Api:
    return Api(category="C", tool_name="t", api_name=name, **more)


A, B, C = api("a"), api("b", description="ü"), api("c")


@pytest.fixture
def stored(tmp_path: Path) -> StoredApis:
    StoredApis.store([A, B, A], ["x.json: damaged"], tmp_path)
    return StoredApis(tmp_path)


def test_stored_apis_are_those_that_were_stored(stored: StoredApis) -> None:
    assert (list(stored), stored[-1], stored[:1], stored.skipped) == ([A, B], B, (A,), ("x.json: damaged",))
    with pytest.raises(IndexError):
        stored[2]


def test_an_identity_in_several_parts_is_the_first(stored: StoredApis) -> None:
    better = api("b", description="better")
    catalog = ApiCatalog([C, better], stored)
    assert list(catalog) == [C, better, A]
    assert catalog.api(B.ref) == better
    assert catalog[1:] == (better, A)
    assert ApiCatalog.of(catalog) is catalog


def test_the_digest_is_that_of_the_apis_wherever_they_are_and_in_whatever_order(stored: StoredApis) -> None:
    assert ApiCatalog(stored).digest == ApiCatalog([B], [A]).digest == ApiCatalog(ApiCatalog(stored), [A]).digest
    assert ApiCatalog(stored).digest != ApiCatalog([A, B, C]).digest
    assert ApiCatalog([A]).digest != ApiCatalog([api("a", method="POST")]).digest


def test_only_what_is_asked_for_is_read(stored: StoredApis, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = StoredApis.__getitem__
    monkeypatch.setattr(StoredApis, "__getitem__", lambda self, place: read.append(place) or original(self, place))
    catalog = ApiCatalog(stored)
    assert (len(catalog), catalog.refs, len(catalog.digest)) == (2, (A.ref, B.ref), 64)
    assert read == []
    assert catalog.api(B.ref) == B
    assert read == [1]


class Documents:
    """Documents with the name of an Api in each, and how often one was read."""

    def __init__(self, folder: Path, **texts: str) -> None:
        self.paths = [folder / f"{name}.json" for name in texts]
        for path, text in zip(self.paths, texts.values(), strict=True):
            path.write_text(text)
        self.read = 0

    def __call__(self, path: Path) -> list[Api]:
        self.read += 1
        if not path.read_text():
            raise DataError(f"{path.name}: damaged")
        return [api(path.read_text())]


def test_documents_are_read_again_only_where_one_has_changed(tmp_path: Path) -> None:
    documents = Documents(tmp_path, one="a", two="b")
    for _ in range(2):
        assert [item.api_name for item in open_documents(documents.paths, documents, tmp_path / "kept")] == ["a", "b"]
        assert documents.read == 2
    documents.paths[1].write_text("longer")
    assert [item.api_name for item in open_documents(documents.paths, documents, tmp_path / "kept")] == ["a", "longer"]


def test_damaged_documents_are_left_out_and_named_every_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    documents = Documents(tmp_path, one="a", two="")
    for _ in range(2):
        caplog.clear()
        assert len(open_documents(documents.paths, documents, tmp_path / "kept")) == 1
        assert "left out of the catalog: two.json: damaged" in caplog.text
    with pytest.raises(DataError, match=r"none of 1 documents has an Api: two\.json: damaged"):
        open_documents(documents.paths[1:], documents, tmp_path / "kept")


@pytest.mark.parametrize(("name", "text"), [("index.json", "{"), ("index.json", "{}"), ("apis.jsonl", "cut")])
def test_a_damaged_stored_catalog_is_made_anew(tmp_path: Path, name: str, text: str) -> None:
    documents = Documents(tmp_path, one="a")
    open_documents(documents.paths, documents, tmp_path / "kept")
    (file,) = (tmp_path / "kept").glob(f"*/{name}")
    file.write_text(text)
    assert list(open_documents(documents.paths, documents, tmp_path / "kept")) == [A]
    assert documents.read == 2


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    documents = Documents(tmp_path, one="a")
    with pytest.raises(DataError, match="the catalog cannot be stored there"):
        open_documents(documents.paths, documents, tmp_path / "one.json")
