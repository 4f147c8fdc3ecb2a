"""What the snooping agent of the attack suite gets at."""

from __future__ import annotations

import pytest

from trialbed.contracts import Sandbox
from trialbed.errors import SandboxUnavailable
from trialbed_adapter_lab.hostile import PROBES, run_probes
from trialbed_plugins.executors.sandbox import check_sandbox

pytestmark = pytest.mark.slow(60)

KEPT = {"secrets in the environment", "tokens of other trials"}


def test_without_a_sandbox_it_gets_at_all_but_secrets_and_other_trials() -> None:
    found = run_probes("none")
    assert {result.probe for result in found if result.got} == {*PROBES} - KEPT
    assert [result for result in found if not result.held] == []


@pytest.mark.parametrize("mode", ["process", "container"])
def test_a_sandbox_keeps_it_out_of_everything(mode: str) -> None:
    try:
        check_sandbox(Sandbox(mode))
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    assert [result for result in run_probes(mode) if result.got or not result.held] == []
