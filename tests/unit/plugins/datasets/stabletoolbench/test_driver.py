"""Importing copies of StableToolBench's repository and opening its test sets."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from trialbed.catalogs import StoredApis
from trialbed.contracts import Dataset
from trialbed.errors import DataError, UsageError
from trialbed_plugins.datasets.stabletoolbench import StableToolBenchDriver

DRIVER = StableToolBenchDriver()


def query(number: int, tool: str = "Kiln", name: str = "fire") -> dict[str, Any]:
    api = {"category_name": "Crafts", "tool_name": tool, "api_name": name, "api_description": "d"}
    return {"query": f"Question {number}?", "query_id": number, "api_list": [api], "relevant APIs": [[tool, name]]}


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def document(tool: str, *names: str) -> dict[str, Any]:
    return {"tool_name": tool, "tool_description": f"All about {tool}.", "api_list": [{"name": name} for name in names]}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The repository's layout, with what else lies about in it."""
    root = tmp_path / "repository"
    write(root / "solvable_queries" / "test_instruction" / "G1_tool.json", [query(1), query(2)])
    write(root / "solvable_queries" / "test_instruction" / "G3_instruction.json", [query(3)])
    write(root / "solvable_queries" / "test_query_ids" / "G1_tool.json", {"1": 0, "2": 0})
    write(root / "solvable_queries_example" / "test_instruction" / "G1_tool.json", [query(1)])
    write(root / "data_example" / "answer" / "1.json", {"win": True})
    write(root / "package.json", {})
    write(root / "results" / "tools" / "agent.json", "not even JSON")
    write(root / "toolenv" / "tools" / "Crafts" / "kiln.json", document("Kiln", "fire", "cool"))
    write(root / "toolenv" / "tools" / "Food" / "oven.json", document("Oven", "bake"))
    return root


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def titles(dataset: Dataset) -> list[str]:
    return [f"{api.category}/{api.ref.title}" for api in dataset.apis()]


def test_a_repository_is_recognised_and_imported(repository: Path, data_dir: Path) -> None:
    assert DRIVER.recognises(repository)
    assert sorted(DRIVER.import_folder(repository, data_dir)) == ["G1_tool", "G3_instruction"]
    assert DRIVER.test_sets(data_dir) == ["G1_tool", "G3_instruction"]
    dataset = DRIVER.open("G1_tool", data_dir)
    assert (dataset.name, dataset.test_set, dataset.simulator) == ("stabletoolbench", "G1_tool", "template")
    assert [one.query_id for one in dataset.queries()] == [1, 2]


def test_tool_documents_describe_tools_and_widen_the_catalog(repository: Path, data_dir: Path) -> None:
    DRIVER.import_folder(repository / "solvable_queries", data_dir)
    bare = DRIVER.open("G1_tool", data_dir)
    assert titles(bare) == ["Crafts/Kiln_fire"]
    assert DRIVER.import_folder(repository / "toolenv", data_dir) == []
    full = DRIVER.open("G1_tool", data_dir)
    assert titles(full) == ["Crafts/Kiln_fire", "Crafts/Kiln_cool", "Food/Oven_bake"]
    assert {api.tool_description for api in full.apis()} == {"All about Kiln.", "All about Oven."}
    assert full.queries()[0].apis[0].tool_description == "All about Kiln."
    assert full.digest() != bare.digest()


@pytest.mark.parametrize(
    "below", ["solvable_queries", "solvable_queries/test_instruction", "toolenv", "toolenv/tools", "."]
)
def test_parts_of_the_layout_are_recognised(repository: Path, data_dir: Path, below: str) -> None:
    assert DRIVER.recognises(repository / below)
    DRIVER.import_folder(repository / below, data_dir)


@pytest.mark.parametrize("below", ["data_example", "results", "solvable_queries/test_query_ids", "absent"])
def test_other_folders_are_not(repository: Path, data_dir: Path, below: str) -> None:
    assert not DRIVER.recognises(repository / below)
    with pytest.raises(UsageError, match="holds no query files or tool documents"):
        DRIVER.import_folder(repository / below, data_dir)
    assert not data_dir.exists()


def test_a_folder_of_query_files_is_recognised(tmp_path: Path, data_dir: Path) -> None:
    folder = tmp_path / "mine"
    write(folder / "pottery.json", [query(5)])
    write(folder / "notes.json", {"todo": []})
    assert DRIVER.recognises(folder)
    assert DRIVER.import_folder(folder, data_dir) == ["pottery"]
    assert DRIVER.open("pottery", data_dir).queries()[0].query_id == 5


def test_excerpts_count_where_the_whole_is_absent(repository: Path, data_dir: Path) -> None:
    DRIVER.import_folder(repository / "solvable_queries_example", data_dir)
    assert len(DRIVER.open(None, data_dir).queries()) == 1


def test_two_files_of_one_name_are_refused(repository: Path, data_dir: Path) -> None:
    write(repository / "copy" / "test_instruction" / "G1_tool.json", [query(9)])
    with pytest.raises(DataError, match="both give the test set 'G1_tool'"):
        DRIVER.import_folder(repository, data_dir)


def test_the_default_is_the_first_of_the_official_sets(tmp_path: Path, data_dir: Path) -> None:
    for name in ("G2_category", "A_own", "G1_instruction"):
        write(tmp_path / "mine" / f"{name}.json", [query(1)])
    DRIVER.import_folder(tmp_path / "mine", data_dir)
    assert DRIVER.test_sets(data_dir) == ["G1_instruction", "G2_category", "A_own"]
    assert DRIVER.open(None, data_dir).test_set == "G1_instruction"


def test_an_unknown_test_set_says_which_there_are_and_how_to_get_more(repository: Path, data_dir: Path) -> None:
    with pytest.raises(UsageError, match=r"no test sets .* `bench data import DIR`"):
        DRIVER.open("G1_tool", data_dir)
    DRIVER.import_folder(repository, data_dir)
    for name in ("G9", "../G1_tool", ""):
        with pytest.raises(UsageError, match=r"imported: G1_tool, G3_instruction; `bench data import DIR`"):
            DRIVER.open(name, data_dir)


@pytest.mark.parametrize(
    ("broken", "content"),
    [
        ("solvable_queries/test_instruction/G3_instruction.json", '[{"query": "cut'),
        ("solvable_queries/test_instruction/G3_instruction.json", [{"query": "q", "query_id": 1}]),
        ("solvable_queries/test_instruction/G3_instruction.json", {"query": "q"}),
        ("toolenv/tools/Food/oven.json", {"tool_name": "Oven"}),
        ("toolenv/tools/Food/oven.json", "{"),
        ("solvable_queries/test_instruction/.._evil.json", [query(1)]),
    ],
)
def test_a_fault_anywhere_imports_nothing(repository: Path, data_dir: Path, broken: str, content: Any) -> None:
    write(repository / broken, content)
    with pytest.raises(DataError, match=Path(broken).name):
        DRIVER.import_folder(repository, data_dir)
    assert DRIVER.test_sets(data_dir) == []


def test_a_failing_import_leaves_the_last_one(
    repository: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DRIVER.import_folder(repository, data_dir)
    before = DRIVER.open("G1_tool", data_dir).digest()
    write(repository / "solvable_queries" / "test_instruction" / "G1_tool.json", [query(8)])

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(UsageError, match=r"No space left.* nothing was imported"):
        DRIVER.import_folder(repository, data_dir)
    monkeypatch.undo()
    assert DRIVER.open("G1_tool", data_dir).digest() == before
    assert len(list((data_dir / "stabletoolbench").glob("import-*"))) == 1


def test_importing_again_replaces_sets_of_the_same_name_and_keeps_others(repository: Path, data_dir: Path) -> None:
    DRIVER.import_folder(repository, data_dir)
    write(repository / "second" / "test_instruction" / "G1_tool.json", [query(8)])
    for _ in range(4):
        assert DRIVER.import_folder(repository / "second", data_dir) == ["G1_tool"]
    assert [one.query_id for one in DRIVER.open("G1_tool", data_dir).queries()] == [8]
    assert [one.query_id for one in DRIVER.open("G3_instruction", data_dir).queries()] == [3]
    assert titles(DRIVER.open("G1_tool", data_dir)) == ["Crafts/Kiln_fire", "Crafts/Kiln_cool", "Food/Oven_bake"]
    assert len(list((data_dir / "stabletoolbench").glob("import-*"))) == 2


def test_a_later_document_of_an_api_takes_the_place_of_the_earlier(repository: Path, data_dir: Path) -> None:
    DRIVER.import_folder(repository, data_dir)
    newer = document("Oven", "bake") | {"tool_description": "Bakes at last."}
    write(repository / "toolenv" / "tools" / "Food" / "oven.json", newer)
    DRIVER.import_folder(repository / "toolenv", data_dir)
    apis = {api.ref.title: api for api in DRIVER.open("G1_tool", data_dir).apis()}
    assert apis["Oven_bake"].tool_description == "Bakes at last."


def test_an_open_dataset_outlives_the_next_import(repository: Path, data_dir: Path) -> None:
    DRIVER.import_folder(repository, data_dir)
    dataset = DRIVER.open("G1_tool", data_dir)
    DRIVER.import_folder(repository / "toolenv", data_dir)
    assert len(dataset.apis()) == 3


def test_what_a_killed_import_left_behind_does_no_harm(repository: Path, data_dir: Path) -> None:
    DRIVER.import_folder(repository, data_dir)
    before = DRIVER.open("G1_tool", data_dir).digest()
    write(data_dir / "stabletoolbench" / "import-dead" / "queries" / "G1_tool.json", '{"name": "G1')
    write(data_dir / "stabletoolbench" / ".CURRENT.1234.tmp", "import-d")
    assert DRIVER.open("G1_tool", data_dir).digest() == before
    DRIVER.import_folder(repository, data_dir)
    assert DRIVER.open("G1_tool", data_dir).digest() == before
    assert not (data_dir / "stabletoolbench" / "import-dead").exists()


def test_imports_at_the_same_time_lose_nothing(tmp_path: Path, data_dir: Path) -> None:
    folders = [write(tmp_path / f"f{number}" / f"set{number}.json", [query(number)]).parent for number in range(6)]
    with ThreadPoolExecutor(len(folders)) as pool:
        list(pool.map(lambda folder: StableToolBenchDriver().import_folder(folder, data_dir), folders))
    assert DRIVER.test_sets(data_dir) == [f"set{number}" for number in range(6)]


def test_apis_of_imported_documents_are_read_when_they_are_needed(
    repository: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DRIVER.import_folder(repository, data_dir)
    monkeypatch.setattr(StoredApis, "__getitem__", lambda self, place: pytest.fail("read"))
    assert len(DRIVER.open("G1_tool", data_dir).apis()) == 3


def test_damaged_apis_are_an_error_that_says_what_to_do(repository: Path, data_dir: Path) -> None:
    DRIVER.import_folder(repository, data_dir)
    (index,) = data_dir.rglob("catalog/index.json")
    index.write_text("{")
    with pytest.raises(DataError, match=r"catalog: cannot be read: .*; remove .*, and import the data again"):
        DRIVER.open("G1_tool", data_dir).apis()


def test_a_damaged_copy_is_an_error_that_names_it(repository: Path, data_dir: Path) -> None:
    DRIVER.import_folder(repository, data_dir)
    (copy,) = data_dir.rglob("queries/G1_tool.json")
    copy.write_text(copy.read_text("utf-8")[:-40], "utf-8")
    with pytest.raises(DataError, match=r"queries/G1_tool.json: is not valid JSON"):
        DRIVER.open("G1_tool", data_dir)
