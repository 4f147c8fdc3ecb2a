"""The package for an executor: what its workers fail of is said in words."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from trialbed.errors import DriverError
from trialbed.records import Limits, ModelEndpoint, TrialKey, TrialSpec
from trialbed_adapter_lab.scaffolding import write_plugin

SILENT = "import time; time.sleep(600)"
REFUSING = """
import json
nonce = json.loads(input())["nonce"]
print(json.dumps({"type": "failed", "error": "UsageError", "message": "no such part", "nonce": nonce}))
"""
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
    write_plugin("executor", "my-thing", tmp_path)
    source = tmp_path / "trialbed-my-thing" / "src" / "trialbed_my_thing" / "__init__.py"
    spec = spec_from_file_location("made_executor", source)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


async def test_a_worker_that_does_not_start_in_time_is_named(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_program(module, monkeypatch, SILENT)
    monkeypatch.setattr(module, "START", 0.01)
    executor = module.MyThingExecutor()
    with pytest.raises(DriverError, match=r"no worker of slow within 0\.01 s"):
        await executor.describe("slow")
    failure = (await executor.execute(SPEC)).failure
    assert (failure.kind, failure.message) == ("crash", "the worker did not start: no worker of slow within 0.01 s")


async def test_what_a_worker_refuses_is_the_trials_outcome(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    use_program(module, monkeypatch, REFUSING)
    failure = (await module.MyThingExecutor().execute(SPEC)).failure
    assert (failure.kind, failure.message) == ("crash", "the worker did not start: no such part")


def use_program(module: ModuleType, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Start a program in place of the worker."""
    monkeypatch.setattr(module, "worker_command", lambda *_: [sys.executable, "-c", program])
