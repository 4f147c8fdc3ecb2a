"""The published G1 test sets, imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbed.contracts import Dataset
from trialbed.records import Parameter, Query
from trialbed_plugins.datasets.stabletoolbench import StableToolBenchDriver

COUNTS = {
    "G1_instruction": {"queries": 163, "gold": 371, "tools": 154, "apis": 820, "categories": 35, "offers": (1, 10)},
    "G1_category": {"queries": 153, "gold": 328, "tools": 88, "apis": 364, "categories": 6, "offers": (1, 10)},
    "G1_tool": {"queries": 158, "gold": 358, "tools": 100, "apis": 500, "categories": 30, "offers": (1, 10)},
}


@pytest.fixture(scope="module")
def data_dir(stabletoolbench_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    assert sorted(StableToolBenchDriver().import_folder(stabletoolbench_dir, folder)) == sorted(COUNTS)
    return folder


@pytest.fixture(params=sorted(COUNTS))
def dataset(data_dir: Path, request: pytest.FixtureRequest) -> Dataset:
    return StableToolBenchDriver().open(request.param, data_dir)


def test_the_sets_stand_in_their_own_order(data_dir: Path) -> None:
    assert list(StableToolBenchDriver().test_sets(data_dir)) == list(COUNTS)


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


def test_gold_is_on_offer_and_of_one_tool(dataset: Dataset) -> None:
    for query in dataset.queries():
        assert set(query.gold_apis) <= {api.ref for api in query.apis}
        assert len({(ref.category, ref.tool_name) for ref in query.gold_apis}) == 1


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


def test_known_irregularities_are_there(data_dir: Path) -> None:
    driver = StableToolBenchDriver()
    by_id = {query.query_id: query for name in COUNTS for query in driver.open(name, data_dir).queries()}
    assert any(one.name == "date\t" for one in _parameters(by_id[66927]))
    for number, name in ((21596, "array[]"), (24146, "id")):
        assert any(
            [one.name for one in api.required_parameters + api.optional_parameters].count(name) > 1
            for api in by_id[number].apis
        )


def _parameters(query: Query) -> list[Parameter]:
    return [one for api in query.apis for one in api.required_parameters + api.optional_parameters]
