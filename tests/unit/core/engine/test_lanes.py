"""Lanes, where the tools of a trial cannot be chosen."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from support.trials import NOW, ended, run_config

from trialbed.engine import RunProgress
from trialbed.engine._lanes import Lanes
from trialbed.engine._outage import Outage
from trialbed.engine._tools import ToolsNotChosen
from trialbed.errors import DataError
from trialbed.records import Run, TrialKey, TrialResult
from trialbed.store import Store


async def test_trials_under_way_are_kept_where_the_tools_of_another_cannot_be_chosen(tmp_path: Path) -> None:
    failed = asyncio.Event()

    async def runner(key: TrialKey, attempt: int) -> TrialResult:
        if key.query_id == 2:
            failed.set()
            raise ToolsNotChosen(DataError("the endpoint of the selector is gone"))
        await failed.wait()
        return ended().model_copy(update={"key": key, "attempt": attempt})

    due: list[Any] = [(TrialKey(framework="reference", query_id=query), 0) for query in (1, 2, 3, 4)]
    with Store.open(str(tmp_path / "s.db")) as store:
        about = {"config_digest": "d", "status": "running", "created_at": NOW, "environment_digest": ""}
        store.create_run(Run(run_id="r", config=run_config(query_ids=(1, 2, 3, 4)), **about))
        progress = RunProgress()
        lanes = Lanes(
            store,
            "r",
            slots=2,
            ambient=True,
            outage=Outage(measured=True, key_variable="KEY"),
            lost=Counter(),
            progress=progress,
            ended=lambda _: None,
        )
        with pytest.raises(DataError, match="endpoint of the selector is gone"):
            await lanes.run(cast("Any", runner), due)
        assert {one.key.query_id for one in store.each_attempt_summary("r") if one.status != "not measured"} == {1}
