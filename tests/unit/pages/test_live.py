"""Progress of a run, as events."""

from __future__ import annotations

import json
from pathlib import Path

from support.stored_runs import NEW, trial

from trialbed.store import Store, open_store
from trialbed_pages.live import progress_events


async def listened() -> bool:
    return False


async def test_a_run_that_has_ended_gives_its_state_and_ends(stored: Path) -> None:
    with open_store(str(stored)) as reader:
        events = [event async for event in progress_events(lambda: reader, NEW, listened, every=0)]
    assert [event.split(b"\n")[0] for event in events] == [b"event: progress", b"event: end"]
    assert json.loads(events[0].split(b"data: ")[1]) == {
        "status": "finished",
        "ended": 4,
        "answered": 3,
        "failed": 1,
        "total": 4,
    }


async def test_each_change_of_a_running_run_is_an_event(stored: Path) -> None:
    with Store.open(str(stored)) as store, store.lock(NEW), open_store(str(stored)) as reader:
        store.update_run(NEW, status="running")
        events = progress_events(lambda: reader, NEW, listened, every=0)
        assert json.loads((await anext(events)).split(b"data: ")[1])["ended"] == 4
        store.add_trial(NEW, trial("reference", 2, wrong=False))
        assert json.loads((await anext(events)).split(b"data: ")[1])["ended"] == 5
        store.update_run(NEW, status="finished")
        assert [b"finished" in event async for event in events] == [True, False]


async def test_nobody_listens_any_more(stored: Path) -> None:
    async def gone() -> bool:
        return True

    with open_store(str(stored)) as reader:
        assert [event async for event in progress_events(lambda: reader, NEW, gone, every=0)] == []
