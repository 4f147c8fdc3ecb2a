"""The judges that grade the answers of a run that has ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.judge_endpoint import JudgeEndpoint, judge_endpoint
from support.stored_runs import NEW, make_store

from trialbed import run_report
from trialbed.engine import RunProgress
from trialbed.errors import DriverError
from trialbed.preparation import RunOptions
from trialbed.prices import read_prices
from trialbed.records import HelperUse, Run, Usage
from trialbed.run_report import _judge_again
from trialbed.store import Store


class Notes(RunProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[JudgeEndpoint]:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    async with judge_endpoint() as served:
        yield served


@pytest.fixture
def ended(tmp_path: Path) -> Run:
    """A run that has ended, one of whose judges has asked a model."""
    make_store(tmp_path / "trials.db")
    usage = Usage(prompt_tokens=900_000, completion_tokens=100_000)
    with Store.open(str(tmp_path / "trials.db")) as store:
        store.update_run(NEW, helpers=(HelperUse(role="judge", model="first", usage=usage, cost=2.0),))
        return store.run(NEW)


def prepared(model: JudgeEndpoint, folder: Path, *judges: str, budget: str | None = None) -> Any:
    options = RunOptions(
        judge=("first", *judges),
        base_url=model.url,
        store=str(folder / "trials.db"),
        completions=folder / "completions.db",
        budget=budget,
    )
    return SimpleNamespace(options=options, queries=())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The judges that grade the answers."""
    found: list[str] = []

    async def rejudge(
        _store: Store, _run: Run, _queries: Any, _settings: RunOptions, judge: str, *, is_part: bool
    ) -> None:
        assert is_part
        found.append(judge)
        if judge == "absent":
            raise DriverError("it cannot be asked")

    monkeypatch.setattr(run_report, "load_driver", lambda *_: SimpleNamespace(rejudge=rejudge))
    return found


@pytest.mark.parametrize(
    ("budget", "said"), [("1Mtokens", "tokens of 1,000,000 tokens"), ("2USD", "2.00 USD of 2.00 USD")]
)
async def test_a_budget_that_is_used_up_leaves_the_judges_that_ask_no_model(
    ended: Run, model: JudgeEndpoint, tmp_path: Path, asked: list[str], budget: str, said: str
) -> None:
    with Store.open(str(tmp_path / "trials.db")) as store:
        store.update_run(NEW, prices={"scripted:gold": read_prices("0,0")})
    notes = Notes()
    await _judge_again(prepared(model, tmp_path, "second", "rule", budget=budget), ended, notes)
    assert asked == ["rule"]
    refused, asks = notes.notes
    assert refused.startswith("the judge second has not graded the answers: the budget of this run is used up: ")
    assert refused.endswith(f"{said}; bench score {NEW} --judge second asks it")
    assert asks == "the judge rule grades the answers"


@pytest.mark.parametrize("budget", [None, "3Mtokens"])
async def test_judges_are_asked_while_the_budget_lasts(
    ended: Run, model: JudgeEndpoint, tmp_path: Path, asked: list[str], budget: str | None
) -> None:
    await _judge_again(prepared(model, tmp_path, "second", budget=budget), ended, RunProgress())
    assert asked == ["second"]


async def test_a_judge_that_cannot_be_asked_is_a_note_and_the_others_are_asked(
    ended: Run, model: JudgeEndpoint, tmp_path: Path, asked: list[str]
) -> None:
    notes = Notes()
    await _judge_again(prepared(model, tmp_path, "absent", "third"), ended, notes)
    assert asked == ["absent", "third"]
    assert f"it cannot be asked; bench score {NEW} --judge absent asks it" in notes.notes[1]
