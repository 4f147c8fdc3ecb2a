"""The package for an executor: it describes a framework, and says why a trial has no outcome."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from trialbed.contracts import LostTrial
from trialbed.errors import DriverBroken
from trialbed.records import Limits, ModelEndpoint, TrialKey, TrialSpec
from trialbed_adapter_lab.scaffolding import free_names, write_plugin

SPEC = TrialSpec(
    trial="trial-token",
    key=TrialKey(framework="slow", query_id=1),
    query="?",
    system_prompt="",
    tools=(),
    endpoint=ModelEndpoint(base_url="http://127.0.0.1:9/v1", api_key="none", model="none"),
    limits=Limits(timeout=600),
    server_url="http://127.0.0.1:9/virtual",
)


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    write_plugin("executor", free_names("my-thing", "executor"), tmp_path)
    source = tmp_path / "trialbed-my-thing" / "src" / "trialbed_my_thing" / "__init__.py"
    spec = spec_from_file_location("made_executor", source)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


async def test_it_describes_a_framework_and_refuses_one_that_is_missing(module: ModuleType) -> None:
    executor = module.MyThingExecutor()
    assert (await executor.describe("reference")).name == "reference"
    with pytest.raises(DriverBroken, match="no-such-framework"):
        await executor.describe("no-such-framework")


async def test_a_trial_without_an_outcome_is_lost_unless_the_order_is_refused(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = module.MyThingExecutor()
    program = "import sys; sys.stderr.write('no room'); sys.exit({})"
    monkeypatch.setattr(module, "JOB", (sys.executable, "-c", program.format(137)))
    assert await executor.execute(SPEC) == LostTrial("a process", "no room")
    monkeypatch.setattr(module, "JOB", (sys.executable, "-c", program.format(3)))
    with pytest.raises(DriverBroken, match="cannot be run: no room"):
        await executor.execute(SPEC)
