from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from trialbed import hookimpl
from trialbed.listeners import Listeners
from trialbed.plugins import empty_manager
from trialbed.records import Answer, Query, Score, Timing, WireLog
from trialbed.scoring import ScoreContext


class Good:
    @hookimpl
    def score_trial(self, context: ScoreContext) -> Iterable[Score]:
        return [Score(name="length", value=float(len(context.answer.final_answer)), bounded=False)]

    @hookimpl
    def aggregate_scores(self) -> dict[str, Any]:
        return {"longest": 3}


class Broken:
    @hookimpl
    def score_trial(self, context: ScoreContext) -> Iterable[Score]:
        raise ValueError("no such luck")

    @hookimpl
    def run_started(self) -> None:
        raise ValueError("not today")


class Witness:
    def __init__(self) -> None:
        self.told: list[Any] = []

    @hookimpl
    def run_started(self, run: Any) -> None:
        self.told.append(run)


def listeners(**plugins: object) -> Listeners:
    manager = empty_manager()
    for name, plugin in plugins.items():
        manager.register(plugin, name=name)
    return Listeners(manager)


def context() -> ScoreContext:
    judge: Any = SimpleNamespace()
    return ScoreContext(
        query=Query(query_id=1, text="?", apis=()),
        tools=(),
        answer=Answer(final_answer="yes"),
        wire=WireLog(trial="t", opened_at=datetime.now(UTC)),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        judge=judge,
        judge_name="rule",
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ValueError("no such luck"), f'bad: ValueError: no such luck (File "{__file__}", line '),
        *((wrong, f"must return a list of trialbed.Score, not {wrong!r:.80}") for wrong in ([{"name": "a"}], [None])),
        (7, "bad: TypeError: "),
    ],
)
async def test_a_scorer_that_fails_costs_its_own_score_only(given: Any, said: str) -> None:
    class Bad:
        @hookimpl
        def score_trial(self, context: ScoreContext) -> Any:
            if isinstance(given, Exception):
                raise given
            return given

    scores = {score.name: score for score in await listeners(bad=Bad(), good=Good()).score(context())}
    assert scores["length"].value == 3.0
    failure = scores["bad:failed"].failure
    assert failure is not None
    assert failure.kind == "scorer"
    assert said in failure.message


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_object_that_does_not_return_costs_its_own_score_only(
    is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed.listeners.SILENT_SECONDS", 0.1)
    monkeypatch.setattr("trialbed.foreign_code.GRACE", 0.2)

    class Endless:
        @hookimpl
        def score_trial(self, context: ScoreContext) -> Any:
            return self.wait() if is_async else self.spin()

        async def wait(self) -> Any:
            self.spin()

        def spin(self) -> Any:
            while True:
                pass

    manager = empty_manager()
    manager.register(Endless(), name="endless")
    manager.register(Good(), name="good")
    heard = Listeners(manager, {"endless"})
    scores = {score.name: score for score in await heard.score(context())}
    heard.end()
    assert scores["length"].value == 3.0
    failure = scores["endless:failed"].failure
    assert failure is not None
    assert failure.message.startswith("endless: StuckCode: did not return within 0.1 s (File ")


async def test_a_score_beyond_its_bounds_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    class Wide:
        @hookimpl
        def score_trial(self, context: ScoreContext) -> Iterable[Score]:
            return [Score(name="tall", value=7.0), Score(name="long", value=7.0, bounded=False)]

    heard = listeners(wide=Wide(), good=Good())
    for _ in range(2):
        assert {score.name: score.value for score in await heard.score(context())}["tall"] == 7.0
    (said,) = caplog.messages
    assert said.startswith("plugin 'wide': the score 'tall' of task 1 is 7, not from 0 to 1")


def test_a_broken_listener_is_named_in_the_log_and_the_others_still_hear(caplog: pytest.LogCaptureFixture) -> None:
    witness = Witness()
    with caplog.at_level(logging.ERROR):
        listeners(bad=Broken(), good=witness).notify("run_started", run="the run")
    assert witness.told == ["the run"]
    assert "'bad' failed in run_started" in caplog.text


@pytest.mark.parametrize("given", [ValueError("no such luck"), [1, 2], {"set": {1, 2}}, {"object": object()}])
def test_figures_that_cannot_be_added_are_left_out_and_logged(given: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Wrong:
        @hookimpl
        def aggregate_scores(self) -> Any:
            if isinstance(given, Exception):
                raise given
            return given

    run: Any = SimpleNamespace()
    assert listeners(wrong=Wrong(), good=Good()).aggregate(run, []) == {"longest": 3}
    assert "plugin 'wrong' failed in aggregate_scores" in caplog.text
