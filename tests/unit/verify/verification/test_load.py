"""A vendor asked at two concurrencies is compared with itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.verification import store_in, target, verify, written_set

from trialbed.errors import UsageError
from trialbed.store import open_store
from trialbed.wire import Call
from trialbed_scripted import ReceivedRequest, Turn, serve
from trialbed_verify.report import compared_targets
from trialbed_verify.stored import show_run
from trialbed_verify.verification import VerifyOptions
from trialbed_verify.verification.targets import under_load
from trialbed_verify.views import verified_tables

CASES, LIMIT, LOAD = 60, 8, 20


class Busy:
    """A vendor that answers without calls while more requests than its limit are in flight."""

    def __init__(self) -> None:
        self.now = self.most = self.arrived = 0

    async def __call__(self, request: ReceivedRequest) -> Turn:
        self.now += 1
        self.arrived += 1
        self.most = max(self.most, self.now)
        # As long as more come: how many are in flight does not depend on the speed of the machine then.
        before = 0
        while self.arrived > before:
            before = self.arrived
            await asyncio.sleep(0.03)
        is_busy = self.now > LIMIT
        self.now -= 1
        # Answers vary, so that they are not taken for a cache's.
        city = f'{{"city": "Oslo {self.arrived % 7}"}}'
        return Turn(text="I am too busy.") if is_busy else Turn(calls=(Call("lookup", city),))


async def test_what_a_vendor_does_under_load_only_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    busy = Busy()
    file = written_set(tmp_path / "set.jsonl", CASES, stream=True)
    async with serve(busy) as server:
        asked = under_load([target(server.url, tmp_path)], LOAD, VerifyOptions(request_concurrency=4))
        usual, loaded = await verify(file, *asked, trials=2, request_concurrency=4)
    assert LIMIT < busy.most <= LOAD
    assert (usual["finish_tool_calls"], usual["success_count"], loaded["success_count"]) == (2 * CASES,) * 3
    assert loaded["finish_tool_calls"] < CASES
    assert loaded["vendor"] == f"{usual['vendor']}@{LOAD}"
    found = compared_targets(asked)
    (model,) = found.models
    assert (model.baseline, model.under_load, found.ranking) == (usual["vendor"], True, None)
    (comparison,) = model.comparisons
    assert comparison.panel.finding == "different"
    assert "decision" in comparison.panel.different
    assert "time" in {result.gate.name for result in comparison.panel.gates}
    (table,) = verified_tables(found)
    assert table.notes[0].startswith(f"{loaded['vendor']}: the first token after ")
    assert "a success rate of 1.000" in table.notes[0]
    with open_store(str(store_in(tmp_path))) as reader:
        show_run(reader.run("latest"), "table")
    assert f"compared with {usual['vendor']}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("load", "options", "message"),
    [(5, {}, "no more than the usual concurrency of 5"), (30, {"vendor_concurrency": 2}, "take turns")],
)
def test_what_is_no_load_is_refused(load: int, options: dict[str, int], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        under_load([target("http://127.0.0.1:1/v1", tmp_path)], load, VerifyOptions(**options))


def test_files_under_load_stand_beside_the_others_under_names_that_are_known(tmp_path: Path) -> None:
    _, loaded = under_load([target("http://127.0.0.1:1/v1", tmp_path)], 30, VerifyOptions())
    assert (loaded.output.name, loaded.summary.name) == ("results_at_30.jsonl", "summary_at_30.json")
    assert (loaded.is_baseline, loaded.concurrency, loaded.load_of) == (False, 30, "127.0.0.1:1")
