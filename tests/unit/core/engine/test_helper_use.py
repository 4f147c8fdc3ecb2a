"""The use that helpers make of their models is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.trials import run_config

from trialbed.engine import _helper_use
from trialbed.engine._helper_use import KeptUse
from trialbed.preparation import RunOptions, config_digest
from trialbed.records import HelperUse
from trialbed.store import Store, new_run


async def test_what_helpers_use_is_kept_while_the_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_helper_use, "KEPT_EVERY", 0.0)
    config = run_config()
    run = new_run(config, config_digest(config))
    # Two requests of an earlier session stay, and those of this one count once however often they are kept.
    run = run.model_copy(update={"helpers": (HelperUse(role="judge", model="m", requests=2),)})
    asked = 0
    helpers: Any = SimpleNamespace(uses=lambda: [HelperUse(role="judge", model="m", requests=asked)])
    control: Any = None
    with Store.open(str(tmp_path / "trials.db")) as store:
        store.create_run(run)
        used = KeptUse(RunOptions(), store, run, run.helpers)
        async with used.keep_within(helpers, control), asyncio.timeout(60):
            for asked in (1, 3):
                while True:
                    await asyncio.sleep(0)
                    if [use.requests for use in store.run(run.run_id).helpers] == [2 + asked]:
                        break
            monkeypatch.setattr(_helper_use, "KEPT_EVERY", 3600.0)
            asked = 4
        assert [use.requests for use in used.found] == [6]
        assert [use.requests for use in store.run(run.run_id).helpers] == [6]
