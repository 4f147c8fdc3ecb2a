from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.trials import changed_config, run_config

from trialbed.engine import new_trial_token
from trialbed.preparation import RunObjects, config_digest, trial_seed
from trialbed.records import RunConfig, TrialKey
from trialbed.tasks import Task, compile_tasks

CONFIG = run_config()


def test_a_seed_depends_on_run_query_and_repeat_and_not_on_the_framework() -> None:
    key = TrialKey(framework="reference", query_id=1)
    assert trial_seed(0, key) == trial_seed(0, key.model_copy(update={"framework": "langgraph"}))
    others = [
        trial_seed(1, key),
        trial_seed(0, key.model_copy(update={"query_id": 2})),
        trial_seed(0, key.model_copy(update={"query_id": "1"})),
        trial_seed(0, key.model_copy(update={"repeat": 1})),
    ]
    assert len({trial_seed(0, key), *others}) == 5


def test_seeds_are_the_same_on_every_machine() -> None:
    assert trial_seed(7, TrialKey(framework="reference", query_id=588, repeat=2)) == 28261570


@given(st.integers(), st.text(), st.one_of(st.integers(), st.text()), st.integers(0, 99))
def test_seeds_fit_what_vendors_accept(run_seed: int, framework: str, query_id: int | str, repeat: int) -> None:
    assert 0 <= trial_seed(run_seed, TrialKey(framework=framework, query_id=query_id, repeat=repeat)) < 2**31


def test_the_digest_changes_with_what_is_measured() -> None:
    changes = {"model": "scripted:none", "seed": 1, "query_ids": (1,), "repeat": 2, "judge": "m"}
    digests = {config_digest(changed_config(CONFIG, **{name: value})) for name, value in changes.items()}
    assert len(digests | {config_digest(CONFIG)}) == 6
    assert config_digest(CONFIG) == config_digest(RunConfig.model_validate_json(CONFIG.model_dump_json()))


def test_tokens_never_repeat_and_fit_a_path() -> None:
    tokens = {new_trial_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(8 <= len(token) <= 64 and token.replace("-", "").replace("_", "").isalnum() for token in tokens)


def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def test_code_is_told_from_its_other_versions() -> None:
    _, bodies, _ = compile_tasks([Task("?", tools=[double])])

    def other(number: int) -> int:
        """Another function."""
        return number

    digests = {
        objects.code_digest()
        for objects in (
            RunObjects(),
            RunObjects(bodies=bodies),
            RunObjects(agents={"a": double}),
            RunObjects(agents={"b": double}),
            RunObjects(agents={"a": other}),
            RunObjects(simulator="template"),
        )
    }
    assert len(digests) == 6
    assert RunObjects().code_digest() is None
    assert RunObjects(agents={"a": double}).code_digest() == RunObjects(agents={"a": double}).code_digest()
