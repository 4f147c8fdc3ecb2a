from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialbed.catalogs import open_catalog, open_dataset
from trialbed.errors import UsageError
from trialbed.preparation import RunOptions, config_digest, prepare
from trialbed.report import document_schema


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    file = tmp_path / "queries.json"
    write(file, "forecast")
    return file


def write(file: Path, name: str) -> None:
    """Write a query that is offered the Api of this name."""
    api = {"category": "Weather", "tool_name": "Skies", "api_name": name, "description": "Tomorrow's weather"}
    file.write_text(json.dumps([{"query_id": 1, "text": "Rain?", "apis": [api]}]))


def prepared(tmp_path: Path, **settings: Any) -> Any:
    return prepare(RunOptions(output=tmp_path / "out", data_dir=tmp_path / "data", **settings))


def test_a_catalog_is_the_datasets_apis_and_those_that_are_named(tools: Path, tmp_path: Path) -> None:
    mini = open_dataset("mini", tmp_path)
    catalog = open_catalog([mini], ["mini", str(tools), "mini:shop"], tmp_path)
    assert len(catalog) == 110 + 6 + 1
    assert catalog.refs[:110] == tuple(api.ref for api in mini.apis())
    assert len(open_catalog([mini], [], tmp_path)) == 110
    assert [ref.category for ref in open_catalog([], [str(tools)], tmp_path).refs] == ["Weather"]


@pytest.mark.parametrize("name", ["nothing", "nothing.json", "nothing:here", "{folder}"])
def test_what_is_no_catalog_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError):
        open_catalog([], [name.format(folder=tmp_path / "empty")], tmp_path)


def test_the_catalog_is_part_of_a_runs_identity(tools: Path, tmp_path: Path) -> None:
    own = prepared(tmp_path, selector="bm25")
    more = prepared(tmp_path, selector="bm25", catalog=(str(tools),))
    assert (own.config.catalog_apis, more.config.catalog_apis) == (110, 111)
    assert own.config.catalog_digest != more.config.catalog_digest == more.catalog.digest
    write(tools, "pollen")
    changed = prepared(tmp_path, selector="bm25", catalog=(str(tools),))
    assert len({config_digest(each.config) for each in (own, more, changed)}) == 3


def test_a_selector_that_knows_the_querys_own_apis_takes_no_catalog(tmp_path: Path) -> None:
    assert prepared(tmp_path).config.catalog_digest is None
    with pytest.raises(UsageError, match="--catalog: the selector query does not choose from a catalog"):
        prepared(tmp_path, catalog=("mini",))


def test_documents_tell_the_catalog() -> None:
    about = document_schema()["properties"]["metadata"]
    assert {"catalog", "catalog_digest", "catalog_apis"} <= set(about["required"])
