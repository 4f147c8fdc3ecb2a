"""Options of executors, and executors whose workers are elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.cases import for_each

from trialbed.contracts import Executor
from trialbed.engine import server
from trialbed.errors import UsageError
from trialbed.preparation import RunOptions
from trialbed.preparation._options import check_executor, executor_options
from trialbed_plugins.executors.local import LocalExecutor


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


def test_options_are_read_once() -> None:
    assert executor_options(RunOptions(executor_options=("memory=1G", "label=a=b"))) == {"memory": "1G", "label": "a=b"}
    check_executor(RunOptions(executor_options=("memory=512M",)), LocalExecutor)


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
