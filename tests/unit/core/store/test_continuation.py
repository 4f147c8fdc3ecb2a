"""A command continues the run that it finds, under its lock, and adds its words to it."""

import pytest
from support.trials import run_config

from trialbed.errors import UsageError
from trialbed.store import Store, hold_run, new_run, record_run


def test_a_run_has_its_tags_and_those_of_the_commands_that_continue_it(store: Store) -> None:
    first = record_run(store, None, run_config(), "d", tags=("a", "b", " "), note="first", own={})
    assert (store.run(first.run_id).tags, store.run(first.run_id).note) == (("a", "b"), "first")
    again = record_run(store, first, run_config(), "d", tags=("c", "a"), note=None, own={"margin": 0.2})
    assert (again.tags, again.note, again.margin) == (("a", "b", "c"), "first", 0.2)
    assert record_run(store, again, run_config(), "d", tags=(), note="second", own={}).note == "second"


async def test_another_command_may_not_continue_the_run_meanwhile(store: Store) -> None:
    run = new_run(run_config(), "d")
    store.create_run(run)
    async with hold_run(store, "d", lambda: run) as found:
        assert (found and found.run_id) == run.run_id
        for digest in ("d", "another configuration"):
            with pytest.raises(UsageError, match="another process"):
                await hold_run(store, digest, lambda: run).__aenter__()
