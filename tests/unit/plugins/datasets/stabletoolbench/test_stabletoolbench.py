"""StableToolBench's files as datasets: imported copies, queries as they are, and the published sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from trialbed.contracts import Dataset
from trialbed.errors import DataError, UsageError
from trialbed.records import ApiRef, Query
from trialbed_plugins.datasets.file import FileDriver
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


@pytest.mark.parametrize("below", ["data_example", "results", "solvable_queries/test_query_ids", "absent"])
def test_other_folders_are_not(repository: Path, data_dir: Path, below: str) -> None:
    assert not DRIVER.recognises(repository / below)
    with pytest.raises(UsageError, match="holds no query files or tool documents"):
        DRIVER.import_folder(repository / below, data_dir)
    assert not data_dir.exists()


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


PAPER = ("Paper Mill ", "/fold/{sheets}")


def read_queries(path: Path) -> Sequence[Query]:
    return FileDriver().open(str(path), path.parent).queries()


def parameter(name: str, **changes: Any) -> dict[str, Any]:
    return {"name": name, "type": "STRING", "description": "", "default": ""} | changes


def api(category: str, tool: str, name: str, **changes: Any) -> dict[str, Any]:
    return {
        "category_name": category,
        "tool_name": tool,
        "api_name": name,
        "api_description": "does something",
        "required_parameters": [],
        "optional_parameters": [],
        "method": "GET",
    } | changes


def source_query(number: int | str = 7, **changes: Any) -> dict[str, Any]:
    return {
        "query": "Fold me a swan, please.",
        "query_id": number,
        "api_list": [
            api("Crafts", *PAPER, template_response={"swan": "str", "_list_length": 2}),
            api("Crafts", "✂ Scissors_v2", "Süß"),
        ],
        "relevant APIs": [list(PAPER)],
    } | changes


@pytest.fixture
def write_queries(tmp_path: Path) -> Any:
    def write_queries(*queries: Any, name: str = "set.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(queries), "utf-8")
        return path

    return write_queries


def test_a_query_becomes_a_record(write_queries: Any) -> None:
    (record,) = read_queries(write_queries(source_query()))
    assert (record.query_id, record.text) == (7, "Fold me a swan, please.")
    assert record.gold_apis == (ApiRef(category="Crafts", tool_name="Paper Mill ", api_name="/fold/{sheets}"),)
    assert record.gold_calls[0].arguments is None
    assert [one.api_name for one in record.apis] == ["/fold/{sheets}", "Süß"]
    assert record.apis[0].template_response == {"swan": "str", "_list_length": 2}
    assert record.apis[1].template_response is None
    assert record.apis[1].tool_name == "✂ Scissors_v2"


def test_the_other_spelling_of_the_gold_key_is_read(write_queries: Any) -> None:
    changed = source_query()
    changed["relevant_apis"] = changed.pop("relevant APIs")
    assert read_queries(write_queries(changed)) == read_queries(write_queries(source_query()))


def test_a_gold_pair_named_twice_is_two_calls_of_one_api(write_queries: Any) -> None:
    (record,) = read_queries(write_queries(source_query(**{"relevant APIs": [list(PAPER), list(PAPER)]})))
    assert len(record.gold_calls) == 2
    assert len(record.gold_apis) == 1


def test_parameters_keep_odd_names_types_and_defaults(write_queries: Any) -> None:
    odd = [
        parameter("array[]"),
        parameter("array[]", description="once more"),
        parameter("date\t", type="DATE (YYYY-MM-DD)"),
        parameter("from", type="string"),
        parameter("code1;code2;...;codeN", type="NUMBER", default="a number below ten"),
        parameter("users('UserName')", type="NUMBER", default=[1, 2]),
        parameter("latin-name", type="BOOLEAN", default=True),
        parameter("How to", type="NUMBER", default=2.5),
    ]
    apis = [api("Crafts", *PAPER, required_parameters=odd, template_response="list of str with length 8")]
    (record,) = read_queries(write_queries(source_query(api_list=apis)))
    one = record.apis[0]
    assert [kept.name for kept in one.required_parameters] == [given["name"] for given in odd]
    assert [kept.default for kept in one.required_parameters] == [given["default"] for given in odd]
    assert one.template_response == "list of str with length 8"
    schema = one.parameters_schema()
    assert schema["required"] == list(dict.fromkeys(given["name"] for given in odd))
    assert schema["properties"]["date\t"] == {"type": "string"}
    assert "default" not in schema["properties"]["code1;code2;...;codeN"]
    assert "default" not in schema["properties"]["users('UserName')"]
    assert schema["properties"]["How to"]["default"] == 2.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": None}, r"task 7, \[0\].query: input should be a valid string"),
        ({"query_id": True}, r"\[0\].query_id: input should be a valid"),
        ({"api_list": {}}, r"task 7, \[0\].api_list: input should be a valid"),
        ({"relevant APIs": [["Paper Mill "]]}, r"task 7, \[0\].relevant APIs\[0\]"),
        ({"relevant APIs": [["Paper Mill ", "fold"]]}, r"task 7, relevant APIs: \['Paper Mill ', 'fold'\] is not in"),
        ({"api_list": [api("C", *PAPER), {}]}, r"task 7, \[0\].api_list\[1\].category_name: the key is missing"),
        (
            {"api_list": [api("C", *PAPER, optional_parameters=[{"name": 3}])]},
            r"task 7, \[0\].api_list\[0\].optional_parameters\[0\].name: input should be a valid string",
        ),
    ],
)
def test_a_fault_is_named_by_file_query_and_key(write_queries: Any, change: dict[str, Any], message: str) -> None:
    path = write_queries(source_query(**change))
    with pytest.raises(DataError, match=message) as caught:
        read_queries(path)
    assert str(caught.value).startswith(f"{path}: ")


COUNTS = {
    "G1_instruction": {"queries": 163, "gold": 371, "tools": 154, "apis": 820, "categories": 35, "offers": (1, 10)},
    "G1_category": {"queries": 153, "gold": 328, "tools": 88, "apis": 364, "categories": 6, "offers": (1, 10)},
    "G1_tool": {"queries": 158, "gold": 358, "tools": 100, "apis": 500, "categories": 30, "offers": (1, 10)},
}


@pytest.fixture(scope="module")
def published_dir(stabletoolbench_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    assert sorted(StableToolBenchDriver().import_folder(stabletoolbench_dir, folder)) == sorted(COUNTS)
    return folder


@pytest.fixture(params=sorted(COUNTS))
def dataset(published_dir: Path, request: pytest.FixtureRequest) -> Dataset:
    return StableToolBenchDriver().open(request.param, published_dir)


def test_counts_are_the_published_ones(dataset: Dataset) -> None:
    apis, queries = dataset.apis(), dataset.queries()
    offers = [len(query.apis) for query in queries]
    assert {
        "queries": len(queries),
        "gold": sum(len(query.gold_calls) for query in queries),
        "tools": len({(api.category, api.tool_name) for api in apis}),
        "apis": len(apis),
        "categories": len({api.category for api in apis}),
        "offers": (min(offers), max(offers)),
    } == COUNTS[dataset.test_set]


def test_nothing_of_the_source_is_lost(dataset: Dataset, stabletoolbench_dir: Path) -> None:
    path = stabletoolbench_dir / "solvable_queries" / "test_instruction" / f"{dataset.test_set}.json"
    for source, query in zip(json.loads(path.read_text("utf-8")), dataset.queries(), strict=True):
        assert (query.query_id, query.text) == (source["query_id"], source["query"])
        assert [list(call.api.pair) for call in query.gold_calls] == source["relevant APIs"]
        for given, api in zip(source["api_list"], query.apis, strict=True):
            assert (api.category, *api.ref.pair) == tuple(
                given[key] for key in ("category_name", "tool_name", "api_name")
            )
            assert api.template_response == given.get("template_response")
            for kind in ("required_parameters", "optional_parameters"):
                kept = [one.model_dump(exclude={"enum"}) for one in getattr(api, kind)]
                assert kept == given[kind]
