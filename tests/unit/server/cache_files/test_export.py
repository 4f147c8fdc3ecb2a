"""Writing the response cache as StableToolBench's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialbed.errors import UsageError
from trialbed_server import cache_folder, export_cache, import_cache
from trialbed_server.response_store import Entry, Origin, ResponseStore
from trialbed_server.standard_names import StandardName, canonical_json, request_key, requested_name

NAME = requested_name("News, Media", "My Tool", "id")
FILE = Path("News_Media") / "my_tool_for_News_Media" / "is_id.json"


def answer(text: Any) -> dict[str, Any]:
    return {"error": "", "response": text}


def add(folder: Path, tool_input: Any, text: str, provenance: str, name: StandardName = NAME) -> None:
    store = ResponseStore(str(folder / "responses.db"))
    body = json.dumps(answer(text))
    store.add([Entry(request_key(name, tool_input), name, canonical_json(tool_input), body, Origin(provenance))])
    store.close()


def test_what_was_imported_is_written_back_as_it_was(tmp_path: Path) -> None:
    content = {
        "{'sourceId': 'ä', 'a': True, 'b': None}": answer({"ü": [1, 2.5, None]}),
        "{}": answer("plain"),
        "{'z': 1, 'a': {'y': 2, 'b': 3}}": {"error": "kept", "response": "as it is", "more": 1},
    }
    file = tmp_path / "tool_response_cache" / FILE
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(content, indent=4))
    location = str(tmp_path / "responses.db")
    import_cache(tmp_path / "tool_response_cache", location)
    report = export_cache(location, tmp_path / "out")
    assert (report.files, report.entries, report.left_out, report.unwritable) == (1, 3, 0, ())
    assert json.loads((tmp_path / "out" / FILE).read_text()) == content
    again = import_cache(tmp_path / "out", str(tmp_path / "other.db"))
    assert (again.new, again.problems) == (3, ())


def test_the_better_of_two_answers_is_written_and_other_origins_on_request(tmp_path: Path) -> None:
    for text, provenance in (("made up", "llm:m"), ("old", "imported"), ("true", "real")):
        add(tmp_path, {"a": 1}, text, provenance)
    add(tmp_path, {"a": 2}, "only", "llm:m")
    add(tmp_path, {"a": 3}, "filled", "template")
    location = str(tmp_path / "responses.db")
    counts = [
        (report.entries, report.left_out)
        for report in (
            export_cache(location, tmp_path / "one"),
            export_cache(location, tmp_path / "two", ("imported", "real", "llm")),
            export_cache(location, tmp_path / "three", ("all",)),
        )
    ]
    assert counts == [(1, 4), (2, 3), (3, 2)]
    assert json.loads((tmp_path / "two" / FILE).read_text()) == {"{'a': 1}": answer("true"), "{'a': 2}": answer("only")}


@pytest.mark.parametrize(
    "name",
    [
        StandardName("..", "x", "y"),
        StandardName("../..", "x", "y"),
        StandardName("a\x00b", "x", "y"),
        StandardName("", "x", "y"),
        StandardName("Data", "x", ""),
        StandardName("Data", "x", "y" * 300),
        StandardName("C:", "x", "y"),
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: StandardName) -> None:
    add(tmp_path, {}, "text", "real", name)
    report = export_cache(str(tmp_path / "responses.db"), tmp_path / "deep" / "out")
    assert (report.files, report.unwritable) == (0, (name,))
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("responses")) == ["deep"]
    assert list((tmp_path / "deep" / "out").rglob("*")) == []


def test_a_folder_that_is_not_empty_stays(tmp_path: Path) -> None:
    add(tmp_path, {}, "text", "real")
    with pytest.raises(UsageError, match="not an empty folder"):
        export_cache(str(tmp_path / "responses.db"), tmp_path)


def test_the_cache_folder_of_a_copy_of_the_repository_is_found(tmp_path: Path) -> None:
    assert cache_folder(tmp_path) is None
    (tmp_path / "server" / "tool_response_cache").mkdir(parents=True)
    assert cache_folder(tmp_path) == tmp_path / "server" / "tool_response_cache"
