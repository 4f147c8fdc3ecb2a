"""The sources of a published run: settings without keys, and files that may be given to others."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.cases import for_each
from support.trials import run_config

from trialbed.catalogs import open_dataset
from trialbed.errors import UsageError
from trialbed.preparation import NO_OBJECTS
from trialbed.records import Run, RunConfig
from trialbed.store import StoredRun
from trialbed_pages.publishing import _publish
from trialbed_pages.publishing._manifest import wrong_source
from trialbed_pages.publishing._numbers import numbers_of
from trialbed_pages.publishing._publish import PublishedDataset, _Collected, dataset_of, public_config, source_of

KEY = "canary1234"
WITH_KEY = f"gpt@https://user:{KEY}@host/v1?api-key={KEY}"


def config(**settings: Any) -> RunConfig:
    return run_config(adapter_versions={}, **settings)


def run(**settings: Any) -> Run:
    return Run(
        run_id="first",
        config=config(**settings),
        config_digest="c",
        status="finished",
        created_at=datetime(2026, 11, 26, tzinfo=UTC),
        environment_digest="e",
    )


def published(record: Run) -> str:
    """All that is published of a run's settings."""
    source = source_of(record, PublishedDataset("mini", {}, {}), recording="r", answers=1)
    report: Any = SimpleNamespace(run=record, frameworks=())
    numbers = numbers_of(report, {}, {}, name="first", model=source.model)
    return source.model_dump_json() + numbers.model_dump_json() + public_config(record.config, "mini").model_dump_json()


@pytest.mark.parametrize("name", ["model", "judge", "judge_model", "selector_model", "simulator_model"])
def test_addresses_of_models_are_not_published(name: str) -> None:
    assert KEY not in published(run(**{name: WITH_KEY}))


@for_each("file", [f"/home/{KEY}/of mine/it.x", f"~/{KEY}/it.x", f"../{KEY}/it.x", f"C:\\{KEY}\\it.x"])
@for_each("name", ["model", "judge", "judge_prompts", "simulator_model", "catalog", "allowed_models"])
@for_each("scheme", ["", "replay:"])
def test_files_are_published_without_the_folders_that_they_lie_in(name: str, file: str, scheme: str) -> None:
    value = f"{scheme}{file}"
    told = published(run(**{name: (value,) if name in ("catalog", "allowed_models") else value}))
    assert KEY not in told
    assert f"{scheme}…/it.x" in told


@pytest.mark.parametrize("model", ["acme/kimi-k2", "local:qwen2.5-coder-1.5b", "scripted:gold", "replay:kept/it.x"])
def test_names_that_are_no_files_elsewhere_are_published_as_they_are(model: str) -> None:
    assert public_config(config(model=model), "mini").models == (model,)


def test_a_catalog_in_a_file_elsewhere_cannot_be_made_again_though_its_folder_is_not_told() -> None:
    source = source_of(run(catalog=("/home/tools",)), PublishedDataset("mini", {}, {}), recording="r", answers=1)
    assert "…/tools" in source.cannot


def test_endpoints_and_programs_are_not_published() -> None:
    address = WITH_KEY.partition("@")[2]
    keys = {"base_url": address, "commands": (f"mine=agent --key {KEY}",)}
    assert KEY not in published(run(**keys, allowed_models=(WITH_KEY,)))


def test_the_models_of_set_ups_are_shown_without_their_addresses() -> None:
    shown = public_config(config(model=WITH_KEY, base_url=WITH_KEY.partition("@")[2]), "mini")
    assert KEY not in shown.model_dump_json()
    assert shown.base_url == "https://host/v1"


def test_the_page_of_a_run_is_made_without_addresses_and_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    paths = {"dataset": f"/home/{KEY}/.trialbed/tasks/desk-aa.json", "dataset_file": f"/home/{KEY}/desk.py"}
    named = run(model=WITH_KEY, judge=WITH_KEY, **paths)
    stored = StoredRun(None, named)  # type: ignore[arg-type] # nothing reads the store
    monkeypatch.setattr(_publish, "dataset_of", lambda *_: PublishedDataset("datasets/desk.py", {}, {}))
    monkeypatch.setattr(_publish, "_recording", lambda _: (b"", 0))
    monkeypatch.setattr(_publish, "request_digests", lambda *_: {})
    monkeypatch.setattr(_publish, "read_report", lambda run, *_: SimpleNamespace(run=run.record, frameworks=()))
    monkeypatch.setattr(_publish, "run_report", lambda run, **_: run.record.model_dump_json())
    found = _Collected()
    _publish._add_run(found, stored, None, (), tmp_path)
    page = b"".join(found.evidence.values())
    assert KEY.encode() not in page
    assert b'"dataset":"datasets/desk.py"' in page


def test_two_runs_with_files_of_one_name_are_not_published_as_one() -> None:
    found = _Collected()
    found.add("datasets/tasks.jsonl", b"one")
    found.add("datasets/tasks.jsonl", b"one")
    with pytest.raises(UsageError, match="two runs have a file datasets/tasks"):
        found.add("datasets/tasks.jsonl", b"two")


def test_a_run_that_asked_a_model_of_a_helper_or_used_programs_cannot_be_made_again() -> None:
    for settings in ({"judge": "gpt"}, {"commands": ("mine=agent",)}, {"catalog": ("../tools.yaml",)}):
        assert source_of(run(**settings), PublishedDataset("mini", {}, {}), recording="r", answers=1).cannot


def test_all_settings_are_arguments_and_numbers_keep_their_digits() -> None:
    record = run(timeout=1234567.5, query_ids=(1, 2, 3, 7, "b", 9, 10), faults=None)
    source = source_of(record, PublishedDataset("mini", {}, {}), recording="r", answers=1)
    given = list(zip(source.arguments[::2], source.arguments[1::2], strict=True))
    assert {("--timeout", "1234567.5"), ("--max-steps", "12"), ("--judge", "rule"), ("--seed", "0")} <= {*given}
    assert [value for option, value in given if option == "--query-id"] == ["1-3", "7", "b", "9-10"]
    assert source.cannot == wrong_source(source.dataset, source.arguments, ()) == ""


TASKS = """
import helpers
from trialbed import Task, tool

@tool
def price(item: str) -> str:
    return open(".env").read() + open("keys.json").read()

tasks = [Task("What?", id="one")]
"""


def test_data_that_code_names_are_not_published(tmp_path: Path) -> None:
    for name, text in {
        "shop.py": TASKS,
        "helpers.py": "NAME = 'keys.json'\n",
        ".env": f"KEY={KEY}",
        "keys.json": f'"{KEY}"',
    }.items():
        (tmp_path / name).write_text(text)
    file = tmp_path / "shop.py"
    found = published_dataset(file)
    assert found.name == "datasets/shop.py"
    assert found.files == {f"datasets/{name}": tmp_path / name for name in ("shop.py", "helpers.py")}


def test_tools_of_a_file_are_published_if_they_are_below_it(tmp_path: Path) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "tools.py").write_text(TASKS.replace("import helpers\n", ""))
    inside, outside = tmp_path / "shop.yaml", tmp_path / "desk" / "sub" / "shop.yaml"
    outside.parent.mkdir()
    inside.write_text("tools: [desk/tools.py]\ntasks: [{query: What?}]\n")
    outside.write_text("tools: [../tools.py]\ntasks: [{query: What?}]\n")
    assert set(published_dataset(inside).files) == {"datasets/shop.yaml", "datasets/desk/tools.py"}
    with pytest.raises(UsageError, match=r"tools.py is not below .*, the folder of .*shop.yaml"):
        published_dataset(outside)


def test_included_files_are_published_beside_the_tasks(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(TASKS.replace("import helpers\n", ""))
    orders = tmp_path / "data" / "orders.json"
    orders.parent.mkdir()
    orders.write_text("[]")
    found = published_dataset(tmp_path / "shop.py", orders)
    assert found.files["datasets/data/orders.json"] == orders
    with pytest.raises(UsageError, match=r"other.json is not below .*, the folder of .*shop.py"):
        published_dataset(tmp_path / "shop.py", tmp_path.parent / "other.json")
    with pytest.raises(UsageError, match="name their own file, too, with --dataset FILE"):
        dataset_of(config(), None, tmp_path, (orders,))


def published_dataset(file: Path, *include: Path) -> PublishedDataset:
    dataset = open_dataset(str(file), file.parent)
    own = config(
        dataset_digest=dataset.digest(),
        query_ids=tuple(query.query_id for query in dataset.queries()),
        code_digest=NO_OBJECTS.with_dataset(dataset).code_digest(),
    )
    return dataset_of(own, file, file.parent, include)
