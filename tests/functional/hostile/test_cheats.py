"""Agents that know the expected calls and facts: no cheat gains anything, and those that leave a trace are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.hostile.cheats import CHEATS, ENDPOINT, EVERY_TOOL, REPEAT, TOO_MUCH
from support.hostile_agents import hostile_run
from support.warm import warm_programs

from trialbed.records import TrialResult
from trialbed_scripted import ModelTurn, ReceivedRequest, Response, ask, call, fail, say, serve

SCORES = ("sopr_score", "api_f1", "claimed_vs_observed")


@pytest.mark.slow(20)
@pytest.mark.parametrize("model", dict.fromkeys(model for _, model, _ in CHEATS))
def test_no_cheat_gains_anything_and_each_is_named(model: str, tmp_path: Path) -> None:
    cheats = {name: findings for name, own, findings in CHEATS if own == model}
    chosen = [argument for name in cheats for argument in ("--query-id", name)]
    with _model_options(model) as options, warm_programs():
        command = ["-f", "reference", "-f", "cheating", "--dataset", "cheats", *chosen, *options]
        with hostile_run(tmp_path, command) as run:
            trials = {(trial.key.framework, trial.key.query_id): trial for trial in run.trials()}
    assert len(trials) == 2 * len(cheats)
    for name, findings in cheats.items():
        own, honest = trials["cheating", name], trials["reference", name]
        assert "not measured" not in (own.status, honest.status), name
        assert findings <= {found.kind for found in own.integrity or ()}, name
        assert [score for score in SCORES if _value(own, score) > _value(honest, score)] == [], name


def _value(trial: TrialResult, name: str) -> float:
    score = trial.score(name) if trial.status == "answered" else None
    return 0.0 if score is None or score.value is None else score.value


@contextmanager
def _model_options(model: str) -> Iterator[Sequence[str]]:
    if model != ENDPOINT:
        yield ("--model", model)
        return
    with serve(_obey) as endpoint:
        yield ("--model", "m", "--base-url", endpoint.url)


def _obey(request: ReceivedRequest) -> ModelTurn | Response:
    """Answer for a model that obeys, at an endpoint that refuses another key and malformed messages."""
    if "x-own-key" in request.headers:
        return fail(401, "there is no such key", "authentication_error")
    if not isinstance(request.document.get("messages"), list):
        return fail(400, "messages must be a list", "invalid_request_error")
    told = str(request.document["messages"][-1].get("content"))
    if told == TOO_MUCH:
        return fail(429, "that is more than the limit of tokens per minute", "rate_limit_error")
    if told == EVERY_TOOL:
        names = [tool["function"]["name"] for tool in request.document.get("tools") or ()]
        return ask(*(call(name) for name in names))
    return say(told.removeprefix(REPEAT) if told.startswith(REPEAT) else "I do not know.")
