"""For every policy of the scripted model, each score has a known right value, or a declared one with its cause."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench
from support.frameworks import APART, FrameworkEnvironment
from support.given_executor import NAME as GIVEN
from support.given_executor import given_executor
from support.trust import one_certificate
from support.truth import DECLARED, MAX_STEPS, POLICIES, REFERENCE, expected, known_scores, labels
from support.warm import warm_programs

from trialbed.catalogs import open_dataset
from trialbed.contracts import Executor
from trialbed.preparation import RunOptions
from trialbed.records import SETTINGS, FrameworkInfo, Outcome, Query, TrialSpec, framework_name
from trialbed.report import legacy_documents
from trialbed.run_report import run_and_report
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_scripted import POLICIES as PLAYED

pytestmark = pytest.mark.slow(110)

QUERIES = (4, 11, 12, 13)
"""They have one to four gold calls, two of one Api, and all kinds of arguments, given and left to be made up."""
FEWER = (11, 13)
"""Of these, those that frameworks are asked: four calls, with arguments to be made up; two calls of an Api."""
TWICE = ("gold", "parallel", "partial", "reordered", "retry")
"""Policies under which frameworks are asked both: what they do depends on which calls there are."""
SLOW = "slow"
"""The policy whose trials run beside one another: two of a set-up at once would need a second worker."""

AT_A_TIME = 2

LABELS = labels()
MOST_IDLE = AT_A_TIME * len(LABELS)
"""All are kept: every profile has its own."""
ASKED = {label: QUERIES if label.startswith(REFERENCE) else FEWER for label in LABELS}


def asked_under(policy: str, asked: tuple[int, ...]) -> tuple[int, ...]:
    """Return the queries that are asked under a policy: under most, frameworks are asked one."""
    if asked != FEWER or policy in TWICE:
        return asked
    return asked[-1:] if policy == SLOW else asked[:1]


def together(asked: tuple[int, ...]) -> list[tuple[str, ...]]:
    """Return the policies that are tried in one run each: those of the same queries, and by itself the slow one."""
    groups: dict[object, tuple[str, ...]] = {}
    for policy in POLICIES:
        # A slow model is waited for: more of its trials fit beside one another.
        place = SLOW if policy == SLOW else asked_under(policy, asked)
        groups[place] = (*groups.get(place, ()), policy)
    return [*groups.values()]


Documents = dict[str, dict[str, dict[str, Any]]]
"""Policy -> label -> result document."""


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> dict[int | str, Query]:
    every = open_dataset("mini", tmp_path_factory.mktemp("data")).queries()
    return {query.query_id: query for query in every if query.query_id in QUERIES}


class WorkersOfMany(Executor):
    """Workers that outlive a run."""

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
    framework_environment: Callable[[str], FrameworkEnvironment], tmp_path_factory: pytest.TempPathFactory
) -> Documents:
    """The result documents of all frameworks under each policy, from runs that follow one another."""
    found = {name: framework_environment(name).record for name in APART}
    environments = {label: found[framework_name(label)] for label in LABELS if framework_name(label) in found}
    folder = tmp_path_factory.mktemp("runs")

    async def run_all() -> Documents:
        found: Documents = {policy: {} for policy in POLICIES}
        async with LocalExecutor(environments=environments, most_idle=MOST_IDLE) as workers, AsyncExitStack() as stack:
            stack.enter_context(given_executor(WorkersOfMany(workers), folder / "driver"))
            for asked in dict.fromkeys(ASKED.values()):
                for policies in together(asked):
                    report = await run_and_report(options(policies, asked))
                    for document in legacy_documents(report):
                        label, _, model = document["metadata"]["agent_name"].partition(SETTINGS)
                        policy = model.removeprefix("scripted:") if model else policies[0]
                        found[policy][label] = document
        return found

    def options(policies: tuple[str, ...], asked: tuple[int, ...]) -> RunOptions:
        chosen = tuple(label for label in LABELS if ASKED[label] == asked)
        models = tuple(f"scripted:{policy}" for policy in policies)
        return RunOptions(
            frameworks=chosen,
            environments={label: environments[label] for label in chosen if label in environments},
            model=models,
            query_ids=tuple(map(str, asked_under(policies[0], asked))),
            max_steps=MAX_STEPS,
            concurrency=len(chosen) if SLOW in policies else AT_A_TIME,
            store=str(folder / "trialbed.db"),
            output=folder / policies[0],
            response_cache=folder / "responses.db",
            executor=GIVEN,
        )

    with pytest.MonkeyPatch.context() as own, warm_programs():
        own.setenv("SSL_CERT_FILE", str(one_certificate(folder / "certificate.pem")))
        # Of three hundred set-ups every pair would be compared, at which nobody looks here.
        own.setattr("trialbed.report.comparison.open_ranks", lambda *_: {})
        return asyncio.run(run_all())


@pytest.mark.parametrize("policy", POLICIES)
def test_every_score_has_its_known_value(policy: str, documents: Documents, queries: dict[int | str, Query]) -> None:
    assert set(documents[policy]) == set(LABELS)
    wrong = [
        f"{label}, query {result['query_id']}: {found} instead of {right}, {result.get('error')}"
        for label in LABELS
        for result in documents[policy][label]["results"]
        for found, right in differences(result, expected(label, policy, queries[result["query_id"]]))
    ]
    assert wrong == []
    for label, document in documents[policy].items():
        assert tuple(result["query_id"] for result in document["results"]) == asked_under(policy, ASKED[label])


@pytest.mark.parametrize("policy", POLICIES)
def test_scores_by_arguments_and_results_have_their_known_values(
    policy: str, documents: Documents, queries: dict[int | str, Query]
) -> None:
    wrong = [
        f"{label}, query {result['query_id']}: {name} is {result['scores'].get(name)} instead of {right}"
        for label in LABELS
        for result in documents[policy][label]["results"]
        for name, right in known_scores(label, policy, queries[result["query_id"]]).items()
        if result["scores"].get(name) != pytest.approx(right)
    ]
    assert wrong == []
    for document in documents["wrong-args"].values():
        for result in document["results"]:
            assert result["scores"]["argument_accuracy"] < 1
            assert result["scores"]["tool_call_f1"] < 1


def differences(result: dict[str, Any], right: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The fields in which a trial is not as it should be, and as they should be; nothing if there are none."""
    scores, wire = result["scores"], result["wire"]
    found = {
        "turns": wire["model_calls"] - wire["model_errors"],
        "calls": len(wire["observed"]),
        "api_call_score": scores["api_call_score"],
        "api_precision": scores["api_precision"],
        "status": scores["answer_status"],
        "finish": scores["has_finish"],
        "invalid": wire["sent_invalid"],
        "error": result.get("error", {}).get("kind", ""),
        "refused": wire["refused"],
        "lost": len(wire["lost"]),
        "agreement": scores.get("claimed_vs_observed"),
        "sent": len(wire["sent"]),
    }
    wanted = {**dataclasses.asdict(right), "sent": right.calls if right.sent is None else right.sent}
    assert found.keys() == wanted.keys()
    names = [name for name in found if found[name] != wanted[name]]
    claimed, observed, sent = (Counter(map(tuple, wire[kind])) for kind in ("claimed", "observed", "sent"))
    # Where more calls are declared than the model sent, the framework made the others.
    made = observed <= sent if wanted["sent"] >= right.calls else sent <= observed
    if not names and not right.error and not (claimed == observed and made):
        return [({"claimed": claimed, "observed": observed, "sent": sent}, {"the same": "calls"})]
    return [({name: found[name] for name in names}, {name: wanted[name] for name in names})] if names else []


def test_no_cell_is_left_out() -> None:
    assert set(POLICIES) == set(PLAYED)
    assert set(DECLARED) <= set(LABELS)
    for cells in DECLARED.values():
        assert set(cells) <= set(POLICIES)
        assert all(cell.cause for cell in cells.values())


def test_the_documents_stand_where_they_are_promised(bench: Bench, tmp_path: Path) -> None:
    done = bench("run", "--limit", 2)
    latest, kept = sorted((tmp_path / "results" / "tools").iterdir())
    assert latest.name == "reference_mini.json"
    assert kept.name.startswith("reference_mini_scripted@gold_")
    assert kept.read_bytes() == latest.read_bytes()
    assert "written: results/tools/reference_mini.json" in done.out
