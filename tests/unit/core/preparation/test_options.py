"""The options of a run: as keyword arguments, of its executor, for its sandbox, and prices."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.trials import cells_of, run_config

from trialbed.contracts import Executor
from trialbed.engine import server
from trialbed.errors import ModelUnavailable, SandboxUnavailable, UsageError
from trialbed.models import HelperModels
from trialbed.preparation import (
    NO_OBJECTS,
    RunOptions,
    check_executor,
    check_prices,
    executor_options,
    hidden_paths,
    prepare,
    prices_of,
    read_keywords,
)
from trialbed.prices import read_prices
from trialbed.records import FaultPlan, HelperUse, Run, ToolFaults, Usage
from trialbed.settings import RunSettings
from trialbed.store import new_run
from trialbed_plugins.executors.local import LocalExecutor

URL = "http://127.0.0.1:1/v1"
CONFIG = run_config(*cells_of("r", model="small"), *cells_of("r@large", model="large"), base_url=URL)
SMALL, LARGE, JUDGE = read_prices("1,2"), read_prices("3,4"), read_prices("5,6")


def evaluate(agents: Any, *, model: Any = None, scorers: Any = (), judge: Any = None, **settings: Any) -> None:
    """The function whose settings are read."""


def read(**given: Any) -> dict[str, Any]:
    return read_keywords(given, evaluate, ("model", "judge"))


def test_keywords_have_the_values_of_options_and_records_stand_for_their_json() -> None:
    assert read(repeat=2, temperature=0, base_url=None) == {"repeat": 2, "temperature": (0.0,), "base_url": None}
    assert read(output="results", store="x.db") == {"output": Path("results"), "store": "x.db"}
    assert read(query_ids=[1, "b"], tags="one") == {"query_ids": ("1", "b"), "tags": ("one",)}
    assert read(fresh=True, gold_answers=False) == {"fresh": True, "gold_answers": False}
    plan = FaultPlan(tools=ToolFaults(rate=0.5))
    assert json.loads(read(faults={"tools": {"rate": 0.5}})["faults"]) == {"tools": {"rate": 0.5}}
    assert FaultPlan.model_validate_json(read(faults=plan)["faults"]) == plan


@for_each(
    ("given", "says"),
    [
        ({"repat": 2}, r"evaluate: unknown setting 'repat'; did you mean 'repeat'\? Known are .*, timeout"),
        ({"frameworks_": 1}, "did you mean 'frameworks'"),
        ({"modle": "m"}, r"unknown setting 'modle'; did you mean 'model'\? Known are .*, scorers, .*, timeout"),
        ({"scorer": "m"}, r"did you mean 'scorers'\?"),
        ({"repeat": 0}, "evaluate: repeat=0: Input should be greater than or equal to 1"),
        ({"timeout": "soon"}, "evaluate: timeout='soon': Input should be a valid number"),
    ],
)
def test_a_keyword_that_is_no_setting_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read(**given)


class Elsewhere(Executor):
    remote = True

    async def __aexit__(self, *_: Any) -> None: ...
    async def describe(self, framework: str) -> Any: ...
    async def execute(self, spec: Any) -> Any: ...


@for_each(
    "given, executor, text",
    [
        (("memory",), LocalExecutor, "'memory' is not an option: write NAME=VALUE"),
        (("memory=1G", "memory=2G"), LocalExecutor, "memory is given twice"),
        (("memory=much",), LocalExecutor, "--executor-option memory: 'much' is not an amount of memory"),
        (("cpus=1",), LocalExecutor, r"no such option \(those it has: memory\)"),
        (("cpus=1",), Elsewhere, r"no such option \(those it has: none\)"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_started(
    given: tuple[str, ...], executor: type[Executor], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        check_executor(RunOptions(executor_options=given), executor)


def test_the_address_of_a_ray_cluster_has_an_option_of_its_own() -> None:
    there = RunOptions(executor="ray", ray_address="head:6379", executor_options=("cpus=2",))
    assert executor_options(there) == {"address": "head:6379", "cpus": "2"}
    with pytest.raises(UsageError, match="address is given twice"):
        executor_options(replace(there, executor_options=("address=here",)))
    with pytest.raises(UsageError, match="--ray-address is for --executor ray, and this is --executor local"):
        check_executor(RunOptions(ray_address="head:6379"), LocalExecutor)


def test_a_server_that_only_this_machine_reaches_is_refused_for_workers_elsewhere() -> None:
    options = RunOptions(server_url="http://127.0.0.1:8080", executor="ray")
    check_executor(options, LocalExecutor)
    with pytest.raises(UsageError, match=r"http://127.0.0.1:8080: workers of --executor ray are on other machines"):
        check_executor(options, Elsewhere)


async def test_the_server_of_a_run_listens_where_workers_elsewhere_find_it(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def refuse(start: Any) -> Any:
        started.append(start.command)
        raise UsageError("not started here")

    monkeypatch.setattr("trialbed.engine._server.ServerProcess", refuse)
    for host in (None, "10.0.0.7"):
        with pytest.raises(UsageError, match="not started here"):
            async with server(RunOptions(response_cache=tmp_path / "responses.db"), host=host):
                """Never entered."""
    assert [json.loads(command[-1]).get("host") for command in started] == [None, "10.0.0.7"]


Settings = Callable[..., RunSettings]


@pytest.fixture
def sandboxed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    return lambda **given: RunSettings(**{"sandbox": True, "data_dir": tmp_path / "data", **given})


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The server's URL of each sandbox that was tried."""
    found: list[str] = []
    monkeypatch.setattr("trialbed_plugins.executors.sandbox.check_sandbox", lambda hidden, url: found.append(url))
    return found


def test_the_users_files_are_hidden(sandboxed: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_INDEX_DIR", str(tmp_path / "indexes"))
    (tmp_path / ".env").write_text("")
    (tmp_path / "queries.json").write_text("[]")
    hidden = hidden_paths(sandboxed(dataset="queries.json", store="runs.db"))
    assert hidden is not None
    names = (".env", "queries.json", "runs.db", "runs.db-wal", ".trialbed/responses.db", "results/tools", "data")
    assert {tmp_path / name for name in (*names, "indexes")} <= set(hidden)


def test_a_run_never_goes_on_without_its_sandbox(
    sandboxed: Settings, tried: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="the executor 'remote' does not offer it"):
        check_executor(sandboxed(executor="remote"), Executor)
    with pytest.raises(UsageError, match="an object of this process cannot be put into a sandbox"):
        prepare(RunOptions(sandbox=True, frameworks=("own",)), replace(NO_OBJECTS, agents={"own": lambda query: query}))
    assert tried == []
    check_executor(sandboxed(server_url="http://192.0.2.1:8080"), LocalExecutor)
    assert tried == ["http://192.0.2.1:8080"]  # which workers must reach

    def refuse(*_: object) -> None:
        raise SandboxUnavailable("something is missing", "install it")

    monkeypatch.setattr("trialbed_plugins.executors.sandbox.check_sandbox", refuse)
    with pytest.raises(SandboxUnavailable, match="--sandbox: something is missing; install it"):
        check_executor(sandboxed(), LocalExecutor)


def options(*price: str, **more: Any) -> RunOptions:
    return RunOptions(**{"model": ("small", "large"), "base_url": URL, "price": price, **more})


def test_each_model_has_the_price_that_it_is_given() -> None:
    assert prices_of(options("1,2", "large=3,4"), CONFIG, None) == {"small": SMALL, "large": LARGE}
    assert prices_of(options("large=3,4"), CONFIG, None) == {"large": LARGE}
    known = r"no model of this run is called 'larg'; did you mean 'large'\? Known are small, large"
    with pytest.raises(UsageError, match=known):
        check_prices(options("larg=1,2"))


def test_a_run_goes_on_with_the_prices_that_it_began_with() -> None:
    def begun(**more: Any) -> Run:
        return new_run(CONFIG, "d").model_copy(update={"prices": {"small": SMALL, "large": LARGE}, **more})

    for given in (options(), options("1,2", "large=3,4")):
        assert prices_of(given, CONFIG, begun()) == {"small": SMALL, "large": LARGE}
    use = HelperUse(role="judge", model="judge", prices=JUDGE)
    for price, of in (("3,4", "small"), ("large=1,2", "large"), ("judge=1,2", "judge")):
        with pytest.raises(UsageError, match=f"began with other prices for {of} and"):
            prices_of(options(price), CONFIG, begun(helpers=(use,)))


def test_a_helper_has_a_budget_and_a_price() -> None:
    helpers = HelperModels(options("chooser=2,0", selector_model="chooser", max_helper_requests=1))
    budget = helpers.budget("selector", "chooser")
    assert budget is helpers.budget("selector", "chooser")
    budget.take_request()
    budget.add_tokens(Usage(prompt_tokens=10))
    (use,) = helpers.uses()
    assert (use.role, use.model, use.tokens, use.cost) == ("selector", "chooser", 10, pytest.approx(2e-5))
    with pytest.raises(ModelUnavailable, match="1 request is used up"):
        budget.take_request()
