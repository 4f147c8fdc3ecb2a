"""For every policy of the scripted model, each score has a known right value, or a declared one with its cause."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench
from support.frameworks import APART, FrameworkEnvironment
from support.given_executor import NAME as GIVEN
from support.given_executor import given_executor
from support.trust import one_certificate
from support.truth import (
    ANY,
    CONVERSATIONS,
    FIELDS,
    MATRIX,
    POLICIES,
    PROGRAM,
    REFERENCE,
    Shape,
    asked_in_conversations,
    conversation_scores,
    expected,
    expected_conversation,
    labels,
)
from support.warm import warm_programs

from trialbed.catalogs import open_dataset
from trialbed.contracts import Executor
from trialbed.preparation import RunOptions
from trialbed.records import SETTINGS, Api, FrameworkInfo, Outcome, Query, TrialSpec, framework_name
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

LIMIT = 12
"""Of steps: what ``bench run`` allows unless it is told otherwise."""
CASES = (*((policy, LIMIT) for policy in POLICIES), ("loop", 7), ("loop", 24))
"""Policy and limit: native programs that never end are also stopped before, and only after, they stop by themselves."""

LABELS = labels()
MOST_IDLE = AT_A_TIME * len(LABELS)
"""All are kept: every profile has its own."""
ASKED = {label: QUERIES if label.startswith(REFERENCE) else FEWER for label in LABELS}
STOPPED = (
    "langgraph:controlled",
    "langgraph:native",
    *dict.fromkeys(label for cell in MATRIX["cells"] if "when" in cell for label in cell["profiles"]),
)
"""Those that are tried under other limits too: whose own limit makes a difference, and two that have none."""


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


Documents = dict[tuple[str, int], dict[str, dict[str, Any]]]
"""Policy and limit -> label -> result document."""
Conversations = dict[tuple[str, str, str], dict[str, Any]]
"""Label, task and policy -> the result of the trial."""

TALKING = tuple(label for label in LABELS if label.endswith((":native", ":controlled")))


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> dict[int | str, tuple[Query, Sequence[Api]]]:
    dataset = open_dataset("mini", tmp_path_factory.mktemp("data"))
    apis = dataset.apis()
    return {query.query_id: (query, apis) for query in dataset.queries() if query.query_id in QUERIES}


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
def documents(played: tuple[Documents, Conversations]) -> Documents:
    return played[0]


@pytest.fixture(scope="module")
def played(
    framework_environment: Callable[[str], FrameworkEnvironment], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Documents, Conversations]:
    """The results of all frameworks under each policy, from runs that follow one another."""
    found = {name: framework_environment(name).record for name in APART}
    environments = {label: found[framework_name(label)] for label in LABELS if framework_name(label) in found}
    folder = tmp_path_factory.mktemp("runs")

    async def run_all() -> tuple[Documents, Conversations]:
        found: Documents = {case: {} for case in CASES}
        talked: Conversations = {}
        async with LocalExecutor(environments=environments, most_idle=MOST_IDLE) as workers, AsyncExitStack() as stack:
            stack.enter_context(given_executor(WorkersOfMany(workers), folder / "driver"))
            runs = [(one, LIMIT, asked) for asked in dict.fromkeys(ASKED.values()) for one in together(asked)]
            for policies, limit, asked in (
                *runs,
                *(((policy,), limit, FEWER) for policy, limit in CASES[len(POLICIES) :]),
            ):
                report = await run_and_report(options(policies, limit, asked))
                for document in legacy_documents(report):
                    label, _, model = document["metadata"]["agent_name"].partition(SETTINGS)
                    policy = model.removeprefix("scripted:") if model else policies[0]
                    found[policy, limit][label] = document
            for policies, tasks in talks.items():
                for document in legacy_documents(await run_and_report(talk_options(policies, tasks))):
                    label, _, model = document["metadata"]["agent_name"].partition(SETTINGS)
                    for result in document["results"]:
                        policy = model.removeprefix("scripted:") if model else policies[0]
                        talked[label, result["query_id"], policy] = result
        return found, talked

    talks: dict[tuple[str, ...], tuple[str, ...]] = {}
    for task, asked in asked_in_conversations().items():
        talks[asked] = (*talks.get(asked, ()), task)

    def talk_options(policies: tuple[str, ...], tasks: tuple[str, ...]) -> RunOptions:
        chosen = options(policies, LIMIT, FEWER)
        environment = {label: environments[label] for label in TALKING if label in environments}
        return replace(chosen, dataset="desk", frameworks=TALKING, environments=environment, query_ids=tasks)

    def options(policies: tuple[str, ...], limit: int, asked: tuple[int, ...]) -> RunOptions:
        chosen = tuple(label for label in LABELS if ASKED[label] == asked and (limit == LIMIT or label in STOPPED))
        models = tuple(f"scripted:{policy}" for policy in policies)
        return RunOptions(
            frameworks=chosen,
            environments={label: environments[label] for label in chosen if label in environments},
            model=models,
            query_ids=tuple(map(str, asked_under(policies[0], asked))),
            max_steps=limit,
            concurrency=len(chosen) if SLOW in policies else AT_A_TIME,
            store=str(folder / "trialbed.db"),
            output=folder / f"{policies[0]}-{limit}",
            response_cache=folder / "responses.db",
            executor=GIVEN,
        )

    with pytest.MonkeyPatch.context() as own, warm_programs():
        own.setenv("SSL_CERT_FILE", str(one_certificate(folder / "certificate.pem")))
        # Of three hundred set-ups every pair would be compared, at which nobody looks here.
        own.setattr("trialbed.report.comparison.open_ranks", lambda *_: {})
        return asyncio.run(run_all())


@pytest.mark.parametrize(("policy", "limit"), CASES)
def test_every_field_has_its_known_value(
    policy: str, limit: int, documents: Documents, queries: dict[int | str, tuple[Query, Sequence[Api]]]
) -> None:
    found = documents[policy, limit]
    assert set(found) == {*(LABELS if limit == LIMIT else STOPPED)}
    wrong = [
        f"{label}, query {result['query_id']}: {differing}, {result.get('error')}"
        for label, document in found.items()
        for result in document["results"]
        if (differing := differences(result, expected(label, policy, shape_of(queries[result["query_id"]], limit))))
    ]
    assert wrong == []
    for label, document in found.items():
        assert tuple(result["query_id"] for result in document["results"]) == asked_under(policy, ASKED[label])


def shape_of(query: tuple[Query, Sequence[Api]], limit: int) -> Shape:
    return Shape(query[0], limit, query[1])


def differences(result: dict[str, Any], right: dict[str, Any]) -> dict[str, str]:
    """The fields in which a trial is not as it should be, as they are and as they should be."""
    scores, wire = result["scores"], result["wire"]
    found = {
        **{name: scores.get(name) for name in FIELDS},
        "turns": wire["model_calls"] - wire["model_errors"],
        "calls": len(wire["observed"]),
        "sent": len(wire["sent"]),
        "invalid": wire["sent_invalid"],
        "lost": len(wire["lost"]),
        "refused": wire["refused"],
        "error": result.get("error", {}).get("kind"),
        "status": scores["answer_status"],
    }
    wrong = {
        name: f"{found[name]} instead of {value}"
        for name, value in right.items()
        if not (value is ANY or found[name] == (value if value is None else near(value)))
    }
    claimed, observed, sent = (Counter(map(tuple, wire[kind])) for kind in ("claimed", "observed", "sent"))
    # Where more calls are declared than the model sent, the framework made the others.
    made = observed <= sent if right["sent"] >= right["calls"] else sent <= observed
    if not wrong and not right["error"] and not (claimed == observed and made):
        return {"calls": f"{claimed} claimed, {observed} observed, {sent} sent"}
    return wrong


def near(value: Any) -> Any:
    """Return a value that equals this one, up to the rounding of numbers."""
    return pytest.approx(value) if type(value) in (int, float) else value


def test_every_conversation_has_its_known_scores(played: tuple[Documents, Conversations]) -> None:
    asked = asked_in_conversations()
    cases = [(label, task, policy) for label in TALKING for task, policies in asked.items() for policy in policies]
    found = {case: conversation_scores(result) for case, result in played[1].items()}
    assert found == {case: pytest.approx(expected_conversation(*case)) for case in cases}


def test_no_cell_is_left_out() -> None:
    assert set(POLICIES) == set(PLAYED)
    for cell in MATRIX["cells"]:
        assert set(cell["profiles"]) <= {*LABELS, PROGRAM}
        assert set(cell["policies"]) <= set(POLICIES)
        assert cell["happens"]
        assert cell["cause"]
    asked = asked_in_conversations()
    for cell in CONVERSATIONS["cells"]:
        assert set(cell["profiles"]) <= set(TALKING)
        assert all(set(cell["policies"]) <= set(asked[task]) for task in cell["tasks"])
        assert cell["happens"]
        assert cell["cause"]


def test_the_documents_stand_where_they_are_promised(bench: Bench, tmp_path: Path) -> None:
    done = bench("run", "--limit", 2)
    latest, kept = sorted((tmp_path / "results" / "tools").iterdir())
    assert latest.name == "reference_mini.json"
    assert kept.name.startswith("reference_mini_scripted@gold_")
    assert kept.read_bytes() == latest.read_bytes()
    assert "written: results/tools/reference_mini.json" in done.out
