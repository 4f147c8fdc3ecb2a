from __future__ import annotations

from trialbed.engine._plan import trial_keys
from trialbed.records import RunConfig

CONFIG = RunConfig(
    frameworks=("a", "b", "c"),
    adapter_versions={},
    dataset="mini",
    test_set="mini",
    dataset_digest="d",
    query_ids=(1, 2, 3),
    model="scripted:gold",
    repeat=2,
    trialbed_version="0.1.0",
)


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
