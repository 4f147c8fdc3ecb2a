"""Which stored run a command continues, and with which trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from support.cases import for_each
from support.trials import changed_config, ended, run_config, run_of

from trialbed.errors import DataError, UsageError
from trialbed.preparation._configuration import config_digest
from trialbed.preparation._continuation import find_run, remarks, why_not_extended
from trialbed.preparation._options import Prepared, RunOptions
from trialbed.preparation._prepare import prepare
from trialbed.preparation._trials import due_trials
from trialbed.records import (
    ApiRef,
    FailureKind,
    GoldCall,
    Query,
    Run,
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
    began = datetime(2026, 1, 1, tzinfo=UTC)

    def add(run_id: str, status: RunStatus = "finished", **changes: object) -> Run:
        config = changed(**changes)
        created = began + timedelta(hours=len(store.runs()))
        run = run_of(config, run_id, config_digest=config_digest(config), status=status, created_at=created)
        store.create_run(run)
        return run

    return add


@pytest.fixture
def first_run(add_run: AddRun) -> None:
    add_run("r1")


def test_the_same_command_continues_an_unfinished_run_and_no_finished_one(store: Store, add_run: AddRun) -> None:
    add_run("done")
    assert find_run(store, prepared()) is None
    unfinished: tuple[RunStatus, ...] = ("running", "interrupted", "incomplete")
    for status in unfinished:
        run = add_run(status, status)
        assert find_run(store, prepared()) == run


@pytest.mark.parametrize("code", [OTHER_CODE, {"adapter_versions": {"reference": "trialbed 0.2.0"}}])
def test_a_run_of_another_adapter_is_not_continued_and_the_user_is_told(
    store: Store, add_run: AddRun, code: dict[str, object]
) -> None:
    add_run("old", "interrupted")
    asked = prepared(changed(**code))
    assert find_run(store, asked) is None
    said = "the adapter of reference or its environment changed since run old began: a new run is started"
    assert list(remarks(store, asked)) == [said]
    assert list(remarks(store, prepared(changed(**code), fresh=True))) == []


@for_each("query_ids", [CONFIG.query_ids, (*CONFIG.query_ids, 77)])
def test_a_run_of_tasks_that_were_edited_is_not_continued_and_says_why(
    store: Store, add_run: AddRun, query_ids: tuple[int, ...]
) -> None:
    if not store.runs():
        add_run("old", "interrupted")
    asked = prepared(changed(dataset_digest="edited", query_ids=query_ids))
    assert find_run(store, asked) is None
    said = f"the tasks of {CONFIG.dataset} changed since run old began: a new run is started"
    assert list(remarks(store, asked)) == [said]


def test_an_edited_file_of_tasks_is_named_though_a_copy_of_it_ran(store: Store, add_run: AddRun) -> None:
    add_run("old", "interrupted", dataset="tasks/desk-aa.json", dataset_file="desk.py")
    asked = prepared(changed(dataset="tasks/desk-bb.json", dataset_file="desk.py", dataset_digest="edited"))
    said = "the tasks of desk.py changed since run old began: a new run is started"
    assert list(remarks(store, asked)) == [said]
    other = changed(dataset="tasks/desk-bb.json", dataset_file="shop.py", dataset_digest="edited")
    assert list(remarks(store, prepared(other))) == []


def test_the_name_of_a_copied_file_tells_no_runs_apart(store: Store, add_run: AddRun) -> None:
    run = add_run("old", "interrupted", dataset_file="desk.py")
    assert find_run(store, prepared(changed(dataset_file="moved/desk.py"))) == run


def test_nothing_is_said_of_finished_runs_of_another_adapter(store: Store, add_run: AddRun) -> None:
    add_run("old")
    assert list(remarks(store, prepared(changed(**OTHER_CODE)))) == []


def test_a_run_with_another_plugin_file_is_not_continued_and_says_why(store: Store, add_run: AddRun) -> None:
    add_run("old", "interrupted", plugin_files={"judge.Mine": "aa", "scorer.py": "bb"})
    edited = {"plugin_files": {"judge.Mine": "cc", "scorer.py": "bb"}}
    assert find_run(store, prepared(changed(**edited))) is None
    said = "the file of judge.Mine changed since run old began: a new run is started"
    assert list(remarks(store, prepared(changed(**edited)))) == [said]
    with pytest.raises(UsageError, match=r"the file of judge\.Mine changed since it began"):
        find_run(store, prepared(changed(**edited), extend="old"))
    with pytest.raises(UsageError, match=r"--retry-failed: the file of judge\.Mine changed since run old began"):
        find_run(store, prepared(changed(**edited), retry_failed=True))
    assert find_run(store, prepared(changed(plugin_files={"judge.Mine": "aa", "scorer.py": "bb"}))) is not None


def test_failed_trials_are_repeated_in_the_run_of_the_same_plugin_files_though_a_newer_one_has_others(
    store: Store, add_run: AddRun
) -> None:
    add_run("older", plugin_files={"scorer.py": "bb"})
    plain = add_run("plain")
    second = add_run("second", plugin_files={"scorer.py": "cc"})
    add_run("third", plugin_files={"scorer.py": "dd"})
    assert find_run(store, prepared(retry_failed=True)) == plain
    assert find_run(store, prepared(changed(plugin_files={"scorer.py": "cc"}), retry_failed=True)) == second
    with pytest.raises(UsageError, match=r"--retry-failed: the file of scorer\.py changed since run third began"):
        find_run(store, prepared(changed(plugin_files={"scorer.py": "ee"}), retry_failed=True))


def test_a_run_of_another_trialbed_is_named_too(store: Store, add_run: AddRun) -> None:
    add_run("old", "running", trialbed_version="0.0.9")
    assert list(remarks(store, prepared())) == ["Trialbed changed since run old began: a new run is started"]


def test_failed_trials_are_repeated_in_the_latest_run_of_the_configuration(store: Store, add_run: AddRun) -> None:
    add_run("first")
    latest = add_run("second")
    add_run("other", seed=1)
    for config in (CONFIG, changed(**OTHER_CODE)):
        assert find_run(store, prepared(config, retry_failed=True)) == latest
    with pytest.raises(UsageError, match="--retry-failed: the store has no run of this configuration"):
        find_run(store, prepared(changed(seed=2), retry_failed=True))


@pytest.mark.parametrize(
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
    run = add_run("r1")
    add_run("other", seed=1)
    asked = changed(**changes)
    for wanted in ("last", "latest", "r1", "r"):
        assert find_run(store, prepared(asked, extend=wanted)) == run
    store.add_trial("r1", ended())


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


CELL = ("model", "model_identity", "temperature", "max_tools")


@pytest.mark.usefixtures("first_run")
@for_each("name", SETTINGS)
def test_a_run_with_another_setting_is_not_extended(store: Store, name: str) -> None:
    asked = changed(**MORE, **{name: SETTINGS[name]})
    why = "the tasks of mini changed since" if name == "dataset_digest" else f"its {name.replace('_', ' ')} is "
    with pytest.raises(UsageError, match=f"the latest run, r1, cannot be extended by this command: {why}"):
        find_run(store, prepared(asked, extend="last"))
    with pytest.raises(UsageError, match="--extend: run r1 cannot be extended"):
        find_run(store, prepared(asked, extend="r1"))
    assert list(remarks(store, prepared(asked))) == []


def test_a_run_is_not_extended_by_tasks_that_were_added_to_its_file(store: Store, add_run: AddRun) -> None:
    add_run("r1", dataset=".trialbed/tasks/desk-aa.json", dataset_file="desk.py")
    longer = {"dataset": ".trialbed/tasks/desk-bb.json", "dataset_file": "desk.py", "dataset_digest": "e"}
    with pytest.raises(UsageError, match=r"command: the tasks of desk\.py changed since it began$"):
        find_run(store, prepared(changed(**MORE, **longer), extend="last"))


def test_every_setting_that_may_not_change_is_tested() -> None:
    grow = {
        "cells",
        "commands",
        "query_ids",
        "repeat",
        "adapter_versions",
        "adapter_digests",
        "dataset_file",
        "tags",
        "plugin_files",  # named in words, and tested apart
    }
    assert set(SETTINGS) == {*RunConfig.model_fields, *CELL} - grow


def test_a_run_does_not_shrink_or_change_its_adapters() -> None:
    large = changed(**MORE)
    assert why_not_extended(CONFIG, large) is None
    assert why_not_extended(CONFIG, CONFIG) is None
    for fewer in ({"frameworks": ("reference",)}, {"query_ids": (1, 2)}, {"repeat": 1}):
        reason = "it has frameworks, tasks or repeats that are not asked for here"
        assert why_not_extended(large, changed(**{**MORE, **fewer})) == reason
    reason = "the adapter of reference or its environment changed since it began"
    assert why_not_extended(large, changed(**MORE, **OTHER_CODE)) == reason


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
        found = [(key.query_id, number) for key, number in found]
        assert found == ([] if expected is None else [(1, expected)])


def test_trials_that_were_not_measured_are_due(store: Store, add_run: AddRun) -> None:
    add_run("r1", "incomplete")
    kinds: tuple[FailureKind, ...] = ("endpoint", "server")
    for number, kind in enumerate(kinds):
        store.add_trial("r1", ended(kind).model_copy(update={"attempt": number}))
    due = due_trials(CONFIG, store.each_attempt_summary("r1")).trials
    assert [(key.query_id, number) for key, number in due] == [(1, 2), (2, 0)]


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
    (said,) = remarks(store, after)
    assert said.startswith(f"the adapter of edited or its environment changed since run {run.run_id}")
    assert find_run(store, replace(after, options=replace(options, retry_failed=True))) == run


def test_queries_that_need_more_requests_than_the_limit_are_counted_with_the_limit_that_is_enough(store: Store) -> None:
    call = GoldCall(api=ApiRef(category="c", tool_name="t", api_name="a"))
    queries = {number: Query(query_id=number, text="", apis=(), gold_calls=(call,) * number) for number in (11, 12, 13)}
    assert list(remarks(store, replace(prepared(changed(max_steps=12)), queries=queries))) == [
        "2 tasks can take more than 12 requests if the calls are made one at a time: --max-steps 14 is enough for all"
    ]
    assert list(remarks(store, replace(prepared(changed(max_steps=14)), queries=queries))) == []
    in_turns = queries[13].model_copy(update={"turns": (UserTurn(text="a", calls=11), UserTurn(text="b", calls=2))})
    assert list(remarks(store, replace(prepared(changed(max_steps=12)), queries={13: in_turns}))) == []
