"""Importing StableToolBench's cache folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialbed.errors import DataError, UsageError
from trialbed_server import import_cache
from trialbed_server.cache_files import ImportReport
from trialbed_server.response_store import ResponseStore
from trialbed_server.standard_names import documented_name, request_key


def write(
    folder: Path, content: Any, *, category: str = "News_Media", tool: str = "my_tool", api: str = "is_id"
) -> Path:
    file = folder / category / f"{tool}_for_{category}" / f"{api}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def answer(text: str) -> dict[str, Any]:
    return {"error": "", "response": text}


def run(folder: Path) -> tuple[ImportReport, ResponseStore]:
    location = str(folder.parent / "responses.db")
    return import_cache(folder, location), ResponseStore(location)


def stored(store: ResponseStore, tool_input: Any) -> list[Any]:
    key = request_key(documented_name("News, Media", "My Tool", "id"), tool_input)
    return [json.loads(entry.body)["response"] for entry in store.find([key])]


def test_importing_again_adds_nothing_and_the_first_of_two_spellings_of_a_key_counts(tmp_path: Path) -> None:
    write(tmp_path / "cache", {"{'a': 1, 'b': 2}": answer("first"), "{'b': 2, 'a': 1}": answer("second")})
    first, store = run(tmp_path / "cache")
    store.close()
    again, store = run(tmp_path / "cache")
    assert (first.new, first.known, again.new, again.known) == (1, 1, 0, 2)
    assert stored(store, {"a": 1, "b": 2}) == ["first"]
    store.close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("{'a': ", answer("x")),
        ("__import__('os')", answer("x")),
        ("{1: 2}", answer("x")),
        ("{'a': {1, 2}}", answer("x")),
        ("{'a': (1,)}", answer("x")),
        ("{'a': 1e999}", answer("x")),
        ("[" * 5000, answer("x")),
        ("{'a': 1}", ["a list"]),
        ("{'a': 1}", {"response": "x"}),
        ("{'a': 1}", {"error": None, "response": "x"}),
        ("{'a': 1}", {"error": "Failed to generate fake response", "response": ""}),
    ],
)
def test_a_malformed_entry_is_reported_with_file_and_key_and_the_rest_imported(
    tmp_path: Path, key: str, value: Any
) -> None:
    file = write(tmp_path / "cache", {key: value, "{}": answer("good")})
    report, store = run(tmp_path / "cache")
    assert report.new == 1
    assert [(problem.file, problem.key) for problem in report.problems] == [(file, key)]
    assert report.problems[0].message
    assert "object at" not in report.problems[0].message
    assert stored(store, {}) == ["good"]
    store.close()


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\udcff", '{"{}": 1, "{}": 2}'])
def test_a_malformed_file_is_reported_and_the_rest_imported(tmp_path: Path, content: str) -> None:
    file = write(tmp_path / "cache", {}, api="broken")
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    write(tmp_path / "cache", {"{}": answer("good")})
    report, store = run(tmp_path / "cache")
    assert [(problem.file, problem.key) for problem in report.problems] == [(file, None)]
    assert report.new == 1
    store.close()


def test_a_folder_of_another_layout_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder"):
        import_cache(tmp_path / "absent", str(tmp_path / "r.db"))
    (tmp_path / "cache").mkdir()
    with pytest.raises(DataError, match="holds no cache files"):
        import_cache(tmp_path / "cache", str(tmp_path / "r.db"))


def test_a_tree_of_original_names_is_imported_too(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "News, Media" / "My Tool" / "id.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"{'sourceId': 1}": answer("one"), '{"flag": true}': answer("two")}))
    report, store = run(tmp_path / "cache")
    assert (report.new, report.problems) == (2, ())
    assert stored(store, {"sourceId": 1}) == stored(store, {"sourceid": 1}) == ["one"]
    assert stored(store, {"flag": True}) == ["two"]
    store.close()


def test_an_import_that_was_interrupted_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_server.cache_files.BATCH", 2)
    for number in range(6):
        write(tmp_path / "cache", {f"{{'n': {number}}}": answer("x")}, api=f"api_{number}")

    def interrupt(done: int, total: int) -> None:
        assert total == 6
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_cache(tmp_path / "cache", str(tmp_path / "responses.db"), interrupt)
    report = import_cache(tmp_path / "cache", str(tmp_path / "responses.db"))
    assert (report.new, report.known) == (2, 4)
