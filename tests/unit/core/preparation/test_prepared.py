"""What a run consists of: its cells, tasks, trials, catalog and identity."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.trials import cells_of, changed_config, run_config

from trialbed import Dataset
from trialbed.catalogs import open_catalog, open_dataset
from trialbed.contracts import ModelInfo
from trialbed.errors import DriverNotFound, UsageError
from trialbed.preparation import (
    Prepared,
    RunObjects,
    RunOptions,
    adapter_versions,
    config_digest,
    prepare,
    recorded_queries,
    trial_keys,
    trial_seed,
)
from trialbed.records import (
    Api,
    Environment,
    GoldCall,
    Parameter,
    Prices,
    Query,
    Run,
    RunCell,
    RunConfig,
    TokenRate,
    TrialKey,
)
from trialbed.store import new_run
from trialbed.tasks import Task, compile_tasks

CONFIG = run_config()
MODELS = ("scripted:gold", "scripted:partial")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@for_each(
    ("given", "expected"),
    [
        ({"model": MODELS[:1]}, ["reference"]),
        ({"model": MODELS[:1] * 2, "max_tools": (5, 5)}, ["reference"]),
        (
            {"model": MODELS, "temperature": (0.0, 0.7)},
            [f"reference@{model},temperature={value}" for model in MODELS for value in ("0", "0.7")],
        ),
        (
            {"model": MODELS, "max_tools": (8, 2)},
            [f"reference@{model},max_tools={value}" for model in MODELS for value in ("8", "2")],
        ),
        (
            {
                "model": ("a@http://h:1/v1", "b@http://h:2/v1", "b@http://h:2", "b@https://h:2/v1"),
                "base_url": "http://h:4/v1",
            },
            ["reference@a@h:1", "reference@b@h:2", "reference@b@http://h:2", "reference@b@https://h:2/v1"],
        ),
    ],
)
def test_all_combinations_have_a_cell_that_is_named_by_what_the_run_has_several_of(
    given: dict[str, Any], expected: list[str]
) -> None:
    assert [cell.label for cell in prepare(RunOptions(limit=1, **given)).config.cells] == expected


def test_each_cell_has_the_prices_of_its_model() -> None:
    own, other = (Prices(rates=(TokenRate(input=price, output=price),), source="s") for price in (1, 2))
    large = RunCell(label="reference@x", framework="reference", model="scripted:partial")
    run = new_run(run_config(*cells_of("reference"), large), "d")
    run = run.model_copy(update={"prices": {"scripted:gold": own, "scripted:partial": other}})
    assert (run.prices_of("reference"), run.prices_of("reference@x")) == (own, other)
    assert Run.model_validate_json(run.model_dump_json()).prices_of("reference@x") == other
    assert run.model_copy(update={"prices": {"scripted:gold": own}}).prices_of("reference@x") is None


def test_a_run_of_more_trials_than_fit_into_memory_is_refused() -> None:
    with pytest.raises(UsageError, match="would have 100,000,000 trials, and one has at most 1,000,000: choose fewer"):
        prepare(RunOptions(limit=1, repeat=10**8))


def test_frameworks_take_turns_at_being_first() -> None:
    keys = trial_keys(run_config(frameworks=("a", "b", "c"), adapter_versions={}, query_ids=(1, 2, 3), repeat=2))
    assert [key.framework for key in keys[::3]] == ["a", "b", "c", "b", "c", "a"]


def test_a_release_that_nothing_provides_is_refused(fake_distribution: Callable[..., Path]) -> None:
    points = {"trialbed.frameworks": {"acme": "no_such_module:Agent"}}
    fake_distribution("trialbed-acme", "0.3", entry_points=points, modules={})
    fake_distribution("acme", "2.0", entry_points={}, modules={})
    found = adapter_versions(["acme==2.0", "acme"], {})
    assert found == {"acme==2.0": "trialbed-acme 0.3", "acme": "trialbed-acme 0.3"}
    with pytest.raises(DriverNotFound, match=r"bench env add acme==1\.0"):
        adapter_versions(["acme==1.0"], {})
    environment = Environment(python="python", lock="acme==1.0\n")
    found = adapter_versions(["acme==1.0"], {"acme==1.0": environment})
    assert found == {"acme==1.0": f"lock {environment.lock_digest}"}


def test_a_seed_depends_on_run_query_and_repeat_and_not_on_the_framework_or_machine() -> None:
    key = TrialKey(framework="reference", query_id=1)
    assert trial_seed(0, key) == trial_seed(0, key.model_copy(update={"framework": "langgraph"}))
    changes: list[dict[str, Any]] = [{"query_id": 2}, {"query_id": "1"}, {"repeat": 1}, {}]
    others = {trial_seed(0, key.model_copy(update=change)) for change in changes}
    assert len(others | {trial_seed(1, key)}) == 5
    assert trial_seed(7, TrialKey(framework="reference", query_id=588, repeat=2)) == 28261570


def test_the_digest_changes_with_what_is_measured() -> None:
    changes = {"model": "scripted:none", "seed": 1, "query_ids": (1,), "repeat": 2, "judge": "m"}
    digests = {config_digest(changed_config(CONFIG, **{name: value})) for name, value in changes.items()}
    assert len(digests | {config_digest(CONFIG)}) == 6
    assert config_digest(CONFIG) == config_digest(RunConfig.model_validate_json(CONFIG.model_dump_json()))


def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def test_code_is_told_from_its_other_versions() -> None:
    _, bodies, _ = compile_tasks([Task("?", tools=[double])])

    def other(number: int) -> int:
        """Another function."""
        return number

    given: list[dict[str, Any]] = [
        {},
        {"bodies": bodies},
        {"agents": {"a": double}},
        {"agents": {"b": double}},
        {"agents": {"a": other}},
        {"simulator": "template"},
    ]
    digests = [RunObjects(**one).code_digest() for one in given]
    assert len({*digests}) == 6
    assert digests[0] is None
    assert RunObjects(agents={"a": double}).code_digest() == digests[2]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    file = tmp_path / "queries.json"
    write(file, "forecast")
    return file


def write(file: Path, name: str) -> None:
    """Write a query that is offered the Api of this name."""
    api = {"category": "Weather", "tool_name": "Skies", "api_name": name, "description": "Tomorrow's weather"}
    file.write_text(json.dumps([{"query_id": 1, "text": "Rain?", "apis": [api]}]))


def prepared(tmp_path: Path, **settings: Any) -> Prepared:
    return prepare(RunOptions(output=tmp_path / "out", data_dir=tmp_path / "data", **settings))


def test_a_catalog_is_the_datasets_apis_and_those_that_are_named(tools: Path, tmp_path: Path) -> None:
    mini = open_dataset("mini", tmp_path)
    catalog = open_catalog([mini], ["mini", str(tools), "mini:shop"], tmp_path)
    assert len(catalog) == 110 + 6 + 1
    assert catalog.refs[:110] == tuple(api.ref for api in mini.apis())
    assert len(open_catalog([mini], [], tmp_path)) == 110
    assert [ref.category for ref in open_catalog([], [str(tools)], tmp_path).refs] == ["Weather"]
    (tmp_path / "empty").mkdir()
    for name in ("nothing", "nothing.json", "nothing:here", str(tmp_path / "empty")):
        with pytest.raises(UsageError):
            open_catalog([], [name], tmp_path)


def test_the_catalog_is_part_of_a_runs_identity(tools: Path, tmp_path: Path) -> None:
    own = prepared(tmp_path, selector="bm25").config
    more = prepared(tmp_path, selector="bm25", catalog=(str(tools),)).config
    write(tools, "pollen")
    changed = prepared(tmp_path, selector="bm25", catalog=(str(tools),)).config
    assert (own.catalog_apis, more.catalog_apis) == (110, 111)
    assert len({config_digest(each) for each in (own, more, changed)}) == 3
    assert prepared(tmp_path).config.catalog_digest is None
    with pytest.raises(UsageError, match="--catalog: the selector query does not choose from a catalog"):
        prepared(tmp_path, catalog=("mini",))


TRACK = Api(
    category="Parcels",
    tool_name="Post",
    api_name="track",
    required_parameters=(Parameter(name="number"),),
    optional_parameters=(Parameter(name="day"),),
)


class Parcels(Dataset):
    name = test_set = "parcels"

    def __init__(self, arguments: dict[str, Any] | None) -> None:
        self._calls = (GoldCall(api=TRACK.ref, arguments=arguments),)

    def queries(self) -> Sequence[Query]:
        return [Query(query_id="where", text="Where is it?", apis=(TRACK,), gold_calls=self._calls)]


@for_each(
    ("arguments", "said"),
    [
        ({"number": "P-1", "parcel": "P-1"}, "has 'parcel', which the tool lacks"),
        ({"day": "today"}, "lacks 'number', which the tool requires"),
        ({}, "lacks 'number', which the tool requires"),
        (None, ""),
        ({"number": "P-1"}, ""),
        ({"number": "P-1", "day": "today"}, ""),
    ],
)
def test_expected_calls_that_no_agent_can_make_are_named_before_a_run_starts(
    arguments: dict[str, Any] | None, said: str, tmp_path: Path
) -> None:
    options = RunOptions(store=str(tmp_path / "t.db"), response_cache=str(tmp_path / "c.db"))
    told = f"task where: its expected call of track {said}: no agent can be right"
    assert prepare(options, RunObjects(dataset=Parcels(arguments))).notes == ((told,) if said else ())


QUERIES = tuple(Query(query_id=number, text="?", apis=()) for number in range(1, 7))
ALL = [1, 2, 3, 4, 5, 6]


def recorded(*ids: int, seed: int = 0, repeat: int = 0) -> ModelInfo:
    keys = (TrialKey(framework="", query_id=number, repeat=repeat) for number in ids)
    return ModelInfo(answers_seed=frozenset(trial_seed(seed, key) for key in keys).__contains__)


@for_each(
    ("models", "options", "ids"),
    [
        ({"replay:a": recorded(1, 2, 3)}, {}, [1, 2, 3]),
        # Of which any repeat is recorded by every model.
        (
            {"replay:a": recorded(1, 2, repeat=1), "replay:b": recorded(2, 3), "scripted:gold": ModelInfo()},
            {"repeat": 2},
            [2],
        ),
        # Those that were chosen are run all the same.
        ({"replay:a": recorded(2)}, {"limit": 6}, ALL),
        ({"replay:a": recorded(2)}, {"query_ids": ("1-6",)}, ALL),
        ({"replay:a": recorded(2)}, {"only_tags": ("x",)}, ALL),
        ({"replay:a": recorded(2)}, {"shuffle": 0}, ALL),
        ({"scripted:gold": ModelInfo()}, {}, ALL),
        ({"replay:a": recorded(*ALL)}, {}, ALL),
        ({"replay:a": recorded(1, seed=5)}, {}, ALL),
    ],
)
def test_only_the_recorded_queries_are_run_where_none_are_chosen(
    models: dict[str, ModelInfo], options: dict[str, Any], ids: list[int]
) -> None:
    found, note = recorded_queries(RunOptions(**options), QUERIES, models, own=False)
    assert [query.query_id for query in found] == ids
    assert bool(note) == (ids != ALL)
    if ids == [1, 2, 3]:
        assert note == "replay:a: answers are recorded for 3 of 6 tasks, and these are run; --limit 6 runs all"
