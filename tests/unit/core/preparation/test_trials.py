from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.trials import run_config

from trialbed.errors import DriverNotFound
from trialbed.preparation._configuration import adapter_versions
from trialbed.preparation._trials import trial_keys
from trialbed.records import Environment

FakeDistribution = Callable[..., Path]

CONFIG = run_config(frameworks=("a", "b", "c"), adapter_versions={}, query_ids=(1, 2, 3), repeat=2)


def test_every_trial_once_and_frameworks_side_by_side() -> None:
    keys = trial_keys(CONFIG)
    assert len(keys) == len(set(keys)) == 18
    for start in range(0, 18, 3):
        together = keys[start : start + 3]
        assert len({(key.query_id, key.repeat) for key in together}) == 1
        assert {key.framework for key in together} == {"a", "b", "c"}


def test_frameworks_take_turns_at_being_first() -> None:
    first = [key.framework for key in trial_keys(CONFIG)[::3]]
    assert first == ["a", "b", "c", "b", "c", "a"]


def test_a_release_that_nothing_provides_is_refused(fake_distribution: FakeDistribution) -> None:
    points = {"trialbed.frameworks": {"acme": "no_such_module:Agent"}}
    fake_distribution("trialbed-acme", "0.3", entry_points=points, modules={})
    fake_distribution("acme", "2.0", entry_points={}, modules={})
    assert adapter_versions(["acme==2.0", "acme"], {}) == {
        "acme==2.0": "trialbed-acme 0.3",
        "acme": "trialbed-acme 0.3",
    }
    with pytest.raises(DriverNotFound, match=r"bench env add acme==1\.0"):
        adapter_versions(["acme==1.0"], {})
    environment = Environment(python="python", lock="acme==1.0\n")
    found = adapter_versions(["acme==1.0"], {"acme==1.0": environment})
    assert found == {"acme==1.0": f"lock {environment.lock_digest}"}
