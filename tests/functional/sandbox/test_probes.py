"""What the snooping agent of the attack suite gets at in a sandbox; without one, see the run with hostile agents."""

from __future__ import annotations

import pytest
from support.warm import warm_programs

from trialbed.contracts import Sandbox
from trialbed.errors import SandboxUnavailable
from trialbed_adapter_lab.hostile import run_probes
from trialbed_plugins.executors.sandbox import check_sandbox

pytestmark = pytest.mark.slow(60)


@pytest.mark.parametrize("mode", ["process", "container"])
def test_a_sandbox_keeps_it_out_of_everything(mode: str) -> None:
    try:
        check_sandbox(Sandbox(mode))
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with warm_programs():
        found = run_probes(mode)
    assert [result for result in found if result.got or not result.held] == []
