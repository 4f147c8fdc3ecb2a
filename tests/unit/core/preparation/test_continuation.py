"""Which stored run a command continues, and with which trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from support.cases import for_each
from support.trials import cells_of, changed_config, run_config, run_of

from trialbed.errors import DataError, UsageError
from trialbed.preparation import Prepared, RunOptions, config_digest, due_trials, find_run, prepare, remarks
from trialbed.records import (
    ApiRef,
    GoldCall,
    Query,
    Run,
    RunCell,
    RunConfig,
    RunStatus,
    TrialKey,
    TrialStatus,
    UserTurn,
)
from trialbed.store import AttemptSummary, Store, new_run

CONFIG = run_config(
    adapter_versions={"reference": "trialbed 0.1.0", "langgraph": "trialbed-langgraph 0.1.0"},
    adapter_digests={"reference": "r1", "langgraph": "l1"},
)
MORE = {"frameworks": ("langgraph", "reference"), "query_ids": (3, 2, 1), "repeat": 2}
OTHER_CODE = {"adapter_digests": {"reference": "r2", "langgraph": "l1"}}

AddRun = Callable[..., Run]


def changed(**changes: object) -> RunConfig:
    return changed_config(CONFIG, **changes)


def prepared(config: RunConfig = CONFIG, **options: Any) -> Prepared:
    return Prepared(RunOptions(**options), cast("Any", None), {}, config)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "trialbed.db")) as opened:
        yield opened


@pytest.fixture
def add_run(store: Store) -> AddRun:
    def add(run_id: str, status: RunStatus = "finished", config: RunConfig = CONFIG) -> Run:
        created = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=len(store.runs()))
        run = run_of(config, run_id, config_digest=config_digest(config), status=status, created_at=created)
        store.create_run(run)
        return run

    return add


def test_the_same_command_continues_an_unfinished_run_and_no_finished_one(store: Store, add_run: AddRun) -> None:
    add_run("done")
    assert find_run(store, prepared()) is None
    unfinished: tuple[RunStatus, ...] = ("running", "interrupted", "incomplete")
    for status in unfinished:
        run = add_run(status, status)
        assert find_run(store, prepared()) == run


ADAPTER = "the adapter of reference or its environment"
FILES = {"judge.Mine": "aa", "scorer.py": "bb"}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (OTHER_CODE, ADAPTER),
        ({"adapter_versions": {"reference": "trialbed 0.2.0"}}, ADAPTER),
        ({"dataset_digest": "edited"}, "the tasks of mini"),
        ({"dataset_digest": "edited", "query_ids": (*CONFIG.query_ids, 77)}, "the tasks of mini"),
        ({"plugin_files": FILES | {"judge.Mine": "cc"}}, "the file of judge.Mine"),
    ],
)
def test_a_run_of_what_was_edited_is_not_continued_and_says_why(
    store: Store, add_run: AddRun, changes: dict[str, Any], what: str
) -> None:
    add_run("old", "interrupted", changed(plugin_files=FILES))
    asked = changed(**{"plugin_files": FILES, **changes})
    assert find_run(store, prepared(asked)) is None
    assert list(remarks(store, prepared(asked))) == [f"{what} changed since run old began: a new run is started"]
    assert list(remarks(store, prepared(asked, fresh=True))) == []
    with pytest.raises(UsageError, match=f"{what} changed since it began"):
        find_run(store, prepared(asked, extend="old"))
    if "plugin_files" in changes:
        with pytest.raises(UsageError, match=f"--retry-failed: {what} changed since run old began"):
            find_run(store, prepared(asked, retry_failed=True))


@for_each(
    "changes",
    [
        {"query_ids": (3, 2, 1)},
        {"frameworks": ("langgraph", "reference")},
        {"frameworks": ("reference", "agent"), "commands": ("agent=node agent.mjs",)},
        {"repeat": 2},
        MORE,
    ],
)
def test_a_run_is_extended_by_queries_frameworks_and_repeats(
    store: Store, add_run: AddRun, changes: dict[str, object]
) -> None:
    if not store.runs():
        add_run("r1")
        add_run("other", config=changed(seed=1))
    for wanted in ("last", "latest", "r1", "r"):
        found = find_run(store, prepared(changed(**changes), extend=wanted))
        assert found == store.find_run("r1")


SETTINGS = {
    "model": "scripted:none",
    "seed": 1,
    "judge": "m",
    "judge_votes": 3,
    "judge_model": "m",
    "judge_prompts": "folder",
    "selector_model": "m",
    "simulator_model": "m",
    "user_model": "m",
    "catalog": "folder",
    "catalog_digest": "c",
    "catalog_apis": 3,
    "dataset": "other",
    "test_set": "other",
    "dataset_digest": "e",
    "code_digest": "c",
    "model_identity": "m",
    "on_miss": "ask",
    "base_url": "http://x/v1",
    "selector": "gold",
    "max_tools": 5,
    "max_steps": 3,
    "timeout": 5.0,
    "temperature": 0.5,
    "max_tokens": 7,
    "max_trial_tokens": 9,
    "faults": "{}",
    "model_name": "m",
    "allowed_models": ("strong",),
    "sandbox": True,
    "trialbed_version": "0.2.0",
}
CELL = {"model", "model_identity", "temperature", "max_tools"}
MAY_GROW = {"cells", "commands", "query_ids", "repeat", "adapter_versions", "adapter_digests", "dataset_file", "tags"}


def test_a_run_with_another_setting_is_not_extended(store: Store, add_run: AddRun) -> None:
    assert {*SETTINGS} == {*RunConfig.model_fields, *CELL} - MAY_GROW - {"plugin_files"}
    add_run("r1")
    for name, value in SETTINGS.items():
        asked = changed(**MORE, **{name: value})
        why = "the tasks of mini changed since" if name == "dataset_digest" else f"its {name.replace('_', ' ')} is "
        with pytest.raises(UsageError, match=f"the latest run, r1, cannot be extended by this command: {why}"):
            find_run(store, prepared(asked, extend="last"))
        assert list(remarks(store, prepared(asked))) == []


def test_a_run_does_not_shrink_or_change_its_adapters_or_models(store: Store, add_run: AddRun) -> None:
    add_run("r1", config=changed(**MORE))
    fewer = "it has frameworks, tasks or repeats that are not asked for here"
    for changes, reason in (
        ({"frameworks": ("reference",)}, fewer),
        ({"query_ids": (1, 2)}, fewer),
        ({"repeat": 1}, fewer),
        (OTHER_CODE, f"{ADAPTER} changed since it began"),
    ):
        with pytest.raises(UsageError, match=f"--extend: run r1 cannot be extended by this command: {reason}"):
            find_run(store, prepared(changed(**{**MORE, **changes}), extend="r1"))
    large = RunCell(label="reference@x", framework="reference", model="scripted:partial")
    both = run_config(*cells_of("reference"), large)
    add_run("r2", config=both)
    other = large.model_copy(update={"model_identity": "other weights"})
    with pytest.raises(UsageError, match="the model of reference@x changed since it began"):
        find_run(store, prepared(run_config(*cells_of("reference"), other), extend="r2"))


def test_what_cannot_be_continued_is_an_error(store: Store, add_run: AddRun) -> None:
    with pytest.raises(UsageError, match="--extend: the store has no run yet"):
        find_run(store, prepared(extend="last"))
    add_run("r1")
    with pytest.raises(DataError, match="no run 'nope'; its latest runs are r1"):
        find_run(store, prepared(extend="nope"))
    with pytest.raises(UsageError, match="cannot be combined"):
        find_run(store, prepared(extend="last", fresh=True))


def attempt(query_id: int, number: int, status: TrialStatus, code: str = "r1") -> AttemptSummary:
    return AttemptSummary(TrialKey(framework="reference", query_id=query_id), number, status, code)


@for_each(
    ("own", "due", "due_again"),
    [
        ([], 0, 0),
        ([("answered", "r1")], None, None),
        ([("failed", "r1")], None, 1),
        ([("not measured", "r1")], 1, 1),
        ([("not measured", "r1"), ("failed", "r1")], None, 2),
        # One that was answered when it was repeated is not paid again, until the code changes.
        ([("failed", "r1"), ("answered", "r1")], None, None),
        ([("failed", "r0"), ("answered", "r0")], None, 2),
        ([("failed", "r0"), ("answered", "r1")], None, None),
        ([("answered", "r0")], None, None),
    ],
)
def test_what_is_due(own: list[tuple[TrialStatus, str]], due: int | None, due_again: int | None) -> None:
    attempts = [attempt(1, number, *one) for number, one in enumerate(own)]
    attempts.append(attempt(2, 0, "answered"))
    for retry_failed, expected in ((False, due), (True, due_again)):
        found = due_trials(CONFIG, attempts, retry_failed=retry_failed).trials
        assert [(key.query_id, number) for key, number in found] == ([] if expected is None else [(1, expected)])


def test_an_edited_adapter_is_another_one_though_its_version_stays(
    store: Store, fake_distribution: Callable[..., Path], tmp_path: Path
) -> None:
    points = {"trialbed.frameworks": {"edited": "edited_agent:Agent"}}
    folder = fake_distribution("trialbed-edited", "0.1", entry_points=points, modules={"edited_agent": "NUMBER = 1"})
    options = RunOptions(frameworks=("edited",), limit=1, output=tmp_path / "results")
    before = prepare(options)
    run = new_run(before.config, config_digest(before.config))
    store.create_run(run)
    assert find_run(store, prepare(options)) == run
    module = next(folder.rglob("edited_agent*"))
    (module if module.is_file() else module / "__init__.py").write_text("NUMBER = 2")
    after = prepare(options)
    assert after.config.adapter_versions == before.config.adapter_versions
    assert find_run(store, after) is None
    assert find_run(store, replace(after, options=replace(options, retry_failed=True))) == run


def test_queries_that_need_more_requests_than_the_limit_are_counted_with_the_limit_that_is_enough(store: Store) -> None:
    call = GoldCall(api=ApiRef(category="c", tool_name="t", api_name="a"))
    queries = {number: Query(query_id=number, text="", apis=(), gold_calls=(call,) * number) for number in (11, 12, 13)}
    in_turns = queries[13].model_copy(update={"turns": (UserTurn(text="a", calls=11), UserTurn(text="b", calls=2))})
    said = (
        "2 tasks can take more than 12 requests if the calls are made one at a time: --max-steps 14 is enough for all"
    )
    for most, asked, told in ((12, queries, [said]), (14, queries, []), (12, {13: in_turns}, [])):
        assert list(remarks(store, replace(prepared(changed(max_steps=most)), queries=asked))) == told
