"""The embedded queries: their counts, their gold calls and what their facts are evidence of."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from trialbed.errors import UsageError
from trialbed.evidence import carries, evidence_values
from trialbed.records import Query
from trialbed_plugins.datasets.mini import MiniDriver, MiniSimulator

DATA_DIR = Path("unused")
DATASET = MiniDriver().open(None, DATA_DIR)
QUERIES = DATASET.queries()
BY_REF = {api.ref: api for api in DATASET.apis()}


def kind(query: Query) -> str:
    tools = {(ref.category, ref.tool_name) for ref in query.gold_apis}
    categories = {ref.category for ref in query.gold_apis}
    if len(tools) == 1:
        return "one tool"
    return "one category" if len(categories) == 1 else "several categories"


async def gold_responses(query: Query) -> list[dict[str, object]]:
    responses = []
    for call in query.gold_calls:
        simulation = await MiniSimulator().simulate(BY_REF[call.api], call.api.title, dict(call.arguments or {}))
        assert simulation.error == ""
        responses.append(simulation.response)
    return responses


def text_of(response: object) -> str:
    return "\n".join([*evidence_values(response), json.dumps(response)])


def test_there_are_sixty_queries_twenty_of_each_kind() -> None:
    assert len(QUERIES) == 60
    assert set(Counter(map(kind, QUERIES)).values()) == {20}
    assert len({query.query_id for query in QUERIES}) == 60
    assert len({query.text for query in QUERIES}) == 60


def test_a_run_of_few_queries_meets_every_kind() -> None:
    assert len({kind(query) for query in QUERIES[:3]}) == 3


def test_the_world_has_forty_tools_a_hundred_apis_and_ten_categories() -> None:
    tools = Counter((api.category, api.tool_name) for api in DATASET.apis())
    assert len(tools) >= 40
    assert sum(tools.values()) >= 100
    assert len({category for category, _ in tools}) == 10
    assert len(BY_REF) == len(DATASET.apis())
    assert sum(count > 1 for count in tools.values()) == len(tools)


def test_all_kinds_of_parameters_occur() -> None:
    schemas = [api.parameters_schema() for api in DATASET.apis()]
    parameters = [parameter for schema in schemas for parameter in schema["properties"].values()]
    assert {parameter["type"] for parameter in parameters} == {"string", "integer", "number", "boolean", "array"}
    assert any("enum" in parameter for parameter in parameters)
    assert any("default" in parameter for parameter in parameters)
    assert all(parameter["description"] for parameter in parameters)
    assert all(schema["required"] for schema in schemas)


def test_some_names_are_as_wild_as_real_ones() -> None:
    titles = [api.ref.title for api in DATASET.apis()]
    for mark in ("/", "{", " - ", "_v2"):
        assert any(mark in title for title in titles)
    names = {name for api in DATASET.apis() for name in api.parameters_schema()["properties"]}
    assert {"from", "max-rate"} <= names


def test_offers_hold_gold_and_distractors(subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query.query_id):
            offered = {api.ref for api in query.apis}
            gold_tools = {(ref.category, ref.tool_name) for ref in query.gold_apis}
            assert 5 <= len(offered) <= 10
            assert offered >= set(query.gold_apis)
            assert any((ref.category, ref.tool_name) not in gold_tools for ref in offered)
            assert all(BY_REF[api.ref] == api for api in query.apis)


async def test_each_gold_call_contributes_facts_of_its_own(subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query.query_id):
            assert 1 <= len(query.gold_calls) <= 4
            responses = await gold_responses(query)
            owners = []
            for fact in query.reference_facts:
                holders = [number for number, response in enumerate(responses) if carries(text_of(response), fact)]
                assert len(holders) == 1, fact
                assert fact in evidence_values(responses[holders[0]])
                assert not carries(query.text, fact)
                assert not carries(json.dumps(query.gold_calls[holders[0]].arguments), fact)
                owners += holders
            assert set(owners) == set(range(len(responses)))


def test_the_reference_answer_states_every_fact(subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query.query_id):
            assert query.reference_answer is not None
            assert all(carries(query.reference_answer, fact) for fact in query.reference_facts)


async def test_arguments_come_from_the_query_or_an_earlier_response(subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query.query_id):
            known = query.text
            for call, response in zip(query.gold_calls, await gold_responses(query), strict=True):
                for name, value in (call.arguments or {}).items():
                    assert isinstance(value, bool) or carries(known, str(value)), (name, value)
                known = "\n".join([known, text_of(response)])


def test_many_queries_chain_calls() -> None:
    assert sum(any(_unasked(query, number) for number in range(len(query.gold_calls))) for query in QUERIES) >= 30


def _unasked(query: Query, number: int) -> bool:
    values = (query.gold_calls[number].arguments or {}).values()
    return any(isinstance(value, str) and not carries(query.text, value) for value in values)


def test_facts_read_the_same_however_a_number_is_written() -> None:
    """Years apart, no fact is a number that people write with separators or pad with zeros."""
    for fact in (fact for query in QUERIES for fact in query.reference_facts):
        if fact.replace(".", "", 1).isdigit():
            assert float(fact) < 1000 or 1500 < float(fact) < 2100, fact
            assert not (fact.endswith("0") and "." in fact), fact


def test_digest_is_stable() -> None:
    assert DATASET.digest() == MiniDriver().open("mini", DATA_DIR).digest()


def test_another_test_set_is_refused_with_the_one_there_is() -> None:
    assert MiniDriver().test_sets(DATA_DIR) == ["mini", "shop"]
    with pytest.raises(UsageError, match="no test set 'maxi'; it has 'mini' and 'shop'"):
        MiniDriver().open("maxi", DATA_DIR)


def test_the_dataset_asks_for_its_own_simulator() -> None:
    assert (DATASET.name, DATASET.test_set, DATASET.simulator) == ("mini", "mini", "mini")


def test_nothing_of_it_is_importable() -> None:
    assert not MiniDriver().recognises(Path(__file__).parent)
