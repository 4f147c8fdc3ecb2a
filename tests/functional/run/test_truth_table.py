"""For every policy of the scripted model, each score has a known right value, whatever the framework."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench

from trialbed.engine import open_dataset
from trialbed.records import Query

pytestmark = pytest.mark.slow

QUERIES = 20
MAX_STEPS = 7


@dataclass(frozen=True)
class Right:
    """What is right for one query: model turns, calls observed, and the scores."""

    turns: int
    calls: int
    api_call_score: float
    api_precision: float
    status: str = "Solved"
    finish: bool = True
    invalid: int = 0


def share(query: Query, calls: int) -> float:
    """The share of gold Apis among the first so many gold calls."""
    gold = {call.api.pair for call in query.gold_calls}
    return len({call.api.pair for call in query.gold_calls[:calls]}) / len(gold)


def right(policy: str, query: Query) -> Right:
    n, pairs = len(query.gold_calls), len({call.api.pair for call in query.gold_calls})
    match policy:
        case "gold" | "slow" | "reordered":
            return Right(n + 1, n, 1, 1)
        case "parallel":
            return Right(2, n, 1, 1)
        case "none":
            return Right(1, 0, 0, 0, "Unsolved")
        case "partial":
            return Right(n, n - 1, share(query, n - 1), float(n > 1), "Unsure" if n > 1 else "Unsolved")
        case "extra":
            return Right(n + 2, n + 1, 1, pairs / (pairs + 1))
        case "wrong-args":
            return Right(n + 1, n, 1, 1, "Unsolved")
        case "bad-json" | "unknown-tool":
            return Right(n + 2, n, 1, 1, invalid=1)
        case "retry":
            return Right(n + 2, n + 1, 1, 1)
        case "loop":
            return Right(MAX_STEPS, MAX_STEPS, share(query, 1), 1, "Unsolved", finish=False)
        case "giveup":
            return Right(2, 1, share(query, 1), 1, "Unsolved")
    raise AssertionError(policy)


POLICIES = (
    "gold",
    "parallel",
    "none",
    "partial",
    "reordered",
    "extra",
    "wrong-args",
    "bad-json",
    "unknown-tool",
    "retry",
    "loop",
    "slow",
    "giveup",
)


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> dict[int | str, Query]:
    dataset = open_dataset("mini", tmp_path_factory.mktemp("data"))
    return {query.query_id: query for query in dataset.queries()[:QUERIES]}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_score_has_its_known_value(
    policy: str, bench: Bench, queries: dict[int | str, Query], every_framework: list[str]
) -> None:
    model = f"scripted:{policy}"
    settings = ("--model", model, "--limit", QUERIES, "--max-steps", MAX_STEPS, "-j", 2, "--json")
    done = bench("run", *every_framework, *settings)
    assert [document["metadata"]["agent_name"] for document in done.documents] == every_framework[1:12:2]
    for document in done.documents:
        framework = document["metadata"]["agent_name"]
        assert document["summary"]["error_count"] == 0, (framework, document["summary"]["errors"])
        assert len(document["results"]) == QUERIES
        for result in document["results"]:
            where = f"{framework}, query {result['query_id']}"
            check(result, right(policy, queries[result["query_id"]]), where)


def check(result: dict[str, Any], expected: Right, where: str) -> None:
    scores, wire = result["scores"], result["wire"]
    seen = {
        "turns": scores["model_turns"],
        "calls": len(wire["observed"]),
        "api_call_score": scores["api_call_score"],
        "api_precision": scores["api_precision"],
        "status": scores["answer_status"],
        "finish": scores["has_finish"],
        "invalid": wire["sent_invalid"],
    }
    wanted = {name: getattr(expected, name) for name in seen}
    assert seen == wanted, where
    assert scores["claimed_vs_observed"] == 1.0, where
    claimed, observed, sent = (Counter(map(tuple, wire[kind])) for kind in ("claimed", "observed", "sent"))
    assert claimed == observed == sent, where


def test_the_documents_stand_where_they_are_promised(bench: Bench, tmp_path: Path) -> None:
    done = bench("run", "--limit", 2)
    assert [path.name for path in (tmp_path / "results" / "tools").iterdir()] == ["reference_mini.json"]
    assert "written: results/tools/reference_mini.json" in done.out
