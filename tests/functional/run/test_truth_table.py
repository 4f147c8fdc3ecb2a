"""For every policy of the scripted model, each score has a known right value, whatever the framework."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench
from support.frameworks import APART, FRAMEWORKS, FrameworkEnvironment

from trialbed.contracts import Executor
from trialbed.engine import RunOptions, open_dataset, run
from trialbed.records import FrameworkInfo, Outcome, Query, TrialSpec, framework_name
from trialbed_plugins.executors.local import LocalExecutor

pytestmark = pytest.mark.slow(100)

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


THOROUGH = ("gold", "parallel")
"""Policies under which every query is asked."""
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
def queries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Query, ...]:
    return tuple(open_dataset("mini", tmp_path_factory.mktemp("data")).queries()[:QUERIES])


def asked(policy: str, queries: tuple[Query, ...]) -> tuple[Query, ...]:
    """The queries of a policy: all of them, or two of each shape of gold calls, on which alone the others depend."""
    if policy in THOROUGH:
        return queries
    shapes: dict[tuple[int, int], list[Query]] = {}
    for query in queries:
        shapes.setdefault((len(query.gold_calls), len({call.api.pair for call in query.gold_calls})), []).append(query)
    return tuple(query for alike in shapes.values() for query in alike[:2])


class WorkersOfMany(Executor):
    """Workers that outlive a run: starting those of six frameworks takes longer than all trials of a policy."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(environments=executor.environments)
        self._executor = executor

    async def __aexit__(self, *_: object) -> None:
        """Leave the workers to the next run."""

    async def describe(self, framework: str) -> FrameworkInfo:
        return await self._executor.describe(framework)

    async def execute(self, spec: TrialSpec) -> Outcome:
        return await self._executor.execute(spec)


@pytest.fixture(scope="module")
def documents(
    queries: tuple[Query, ...],
    framework_environment: Callable[[str], FrameworkEnvironment],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, list[dict[str, Any]]]:
    """The result documents of all frameworks under each policy, from runs that follow one another."""
    environments = {framework: framework_environment(framework).record for framework in APART}
    folder = tmp_path_factory.mktemp("runs")

    async def run_all() -> dict[str, list[dict[str, Any]]]:
        async with LocalExecutor(environments=environments) as workers:
            return {policy: await run(options(policy), executor=WorkersOfMany(workers)) for policy in POLICIES}

    def options(policy: str) -> RunOptions:
        return RunOptions(
            frameworks=FRAMEWORKS,
            profiles=("controlled",),
            environments=environments,
            model=f"scripted:{policy}",
            query_ids=tuple(str(query.query_id) for query in asked(policy, queries)),
            max_steps=MAX_STEPS,
            concurrency=len(FRAMEWORKS) if policy == "slow" else 2,
            store=str(folder / "trialbed.db"),
            output=folder / policy,
            response_cache=folder / "responses.db",
        )

    return asyncio.run(run_all())


@pytest.mark.parametrize("policy", POLICIES)
def test_every_score_has_its_known_value(
    policy: str, documents: dict[str, list[dict[str, Any]]], queries: tuple[Query, ...]
) -> None:
    agents = [framework_name(document["metadata"]["agent_name"]) for document in documents[policy]]
    assert agents == list(FRAMEWORKS)
    for document in documents[policy]:
        framework = document["metadata"]["agent_name"]
        assert document["summary"]["error_count"] == 0, (framework, document["summary"]["errors"])
        results = {result["query_id"]: result for result in document["results"]}
        expected = {query.query_id: right(policy, query) for query in asked(policy, queries)}
        assert set(results) == set(expected)
        for query_id, result in results.items():
            check(result, expected[query_id], f"{framework}, query {query_id}")


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
