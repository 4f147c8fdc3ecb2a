"""The queries of a run that its recorded models have answers for."""

from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed.contracts import ModelInfo
from trialbed.preparation._options import RunOptions
from trialbed.preparation._prepare import recorded_queries
from trialbed.preparation._trials import trial_seed
from trialbed.records import Query, TrialKey

QUERIES = tuple(Query(query_id=number, text="?", apis=()) for number in range(1, 7))


def recorded(*ids: int, seed: int = 0, repeat: int = 0) -> ModelInfo:
    keys = (TrialKey(framework="", query_id=number, repeat=repeat) for number in ids)
    return ModelInfo(answers_seed=frozenset(trial_seed(seed, key) for key in keys).__contains__)


def of(models: dict[str, ModelInfo], *, own: bool = False, **options: Any) -> tuple[list[Any], str]:
    found, note = recorded_queries(RunOptions(**options), QUERIES, models, own=own)
    return [query.query_id for query in found], note


def test_only_the_recorded_queries_are_run_where_none_are_chosen() -> None:
    ids, note = of({"replay:a": recorded(1, 2, 3)})
    assert ids == [1, 2, 3]
    assert note == "replay:a: answers are recorded for 3 of 6 tasks, and these are run; --limit 6 runs all"


@for_each("options", [{"own": True}, {"limit": 6}, {"query_ids": ("1-6",)}, {"only_tags": ("x",)}, {"shuffle": 0}])
def test_queries_that_were_chosen_are_run_all_the_same(options: dict[str, Any]) -> None:
    ids, note = of({"replay:a": recorded(2)}, **options)
    assert (len(ids), note) == (6, "")


@for_each(
    ("models", "options"),
    [
        ({"scripted:gold": ModelInfo()}, {}),
        ({"replay:a": recorded(*range(1, 7))}, {}),
        ({"replay:a": recorded(1, seed=5)}, {}),
    ],
)
def test_nothing_is_left_out_or_said_otherwise(models: dict[str, ModelInfo], options: dict[str, Any]) -> None:
    assert of(models, **options) == ([1, 2, 3, 4, 5, 6], "")


def test_a_query_of_which_any_repeat_is_recorded_by_every_model_is_run() -> None:
    models = {"replay:a": recorded(1, 2, repeat=1), "replay:b": recorded(2, 3), "scripted:gold": ModelInfo()}
    assert of(models, repeat=2)[0] == [2]
