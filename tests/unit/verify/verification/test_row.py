from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from support.chat import ODD_JSON
from support.examples import examples
from support.trials import run_config
from support.verification import target

from trialbed.contracts import ModelAdapter
from trialbed.store import Store, new_run, open_store
from trialbed.wire import Problem, Reading, parse_json
from trialbed.wire.dialects.chat_completions import read_body
from trialbed_verify.verification import Case
from trialbed_verify.verification.exchange import EndpointAttempt
from trialbed_verify.verification.row import RowRedaction, result_row, row_lines, trial_result
from trialbed_verify.verification.targets import PreparedRequest

CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def reading(reason: str = "stop", message: dict[str, Any] | None = None, **usage: Any) -> Reading:
    response = {
        "id": "x",
        "model": "m-id",
        "system_fingerprint": 7,
        "choices": [{"index": 0, "message": message or {"content": "hi there " * 10}, "finish_reason": reason}],
        "usage": usage,
    }
    return read_body(json.dumps(response).encode())


def row(
    folder: Path,
    found: Reading,
    *,
    first_token: float | None = 0.1,
    duration: float = 0.6,
    tools: Sequence[Any] = (),
    adapter: ModelAdapter | None = None,
) -> dict[str, Any]:
    attempt = EndpointAttempt(datetime.now(UTC), 0.0, 200, first_token, duration, found)
    prepared = PreparedRequest({"model": "m-id"}, {"model": "m-id"}, b"{}", "hash", list(tools))
    one, case = target("http://h/v1", folder, tokenizer="t" if adapter else None), Case(3, "c0ffee", {})
    one = replace(one, adapter=adapter or one.adapter)
    return dict(result_row(one, "config", case, 1, prepared, [attempt], queued=0.25, lag=0.002))


def test_a_row_says_what_was_asked_what_came_and_when(tmp_path: Path) -> None:
    found = row(tmp_path, reading(prompt_tokens=5, completion_tokens=50))
    assert (found["data_index"], found["case"], found["trial"], found["status"]) == (3, "c0ffee", 1, "success")
    assert (found["ttft_ms"], found["duration_ms"], found["tps"]) == (100.0, 600, 100.0)
    assert (found["prompt_tokens"], found["completion_tokens"], found["total_tokens"]) == (5, 50, 55)
    assert (found["queued_ms"], found["loop_lag_ms"]) == (250.0, 2.0)
    assert found["served"] == {"id": "x", "model": "m-id", "system_fingerprint": None, "provider": None}
    assert found["last_run_at"].endswith("+00:00")


def test_a_failure_has_no_figures_and_keeps_what_had_come(tmp_path: Path) -> None:
    cut = reading(completion_tokens=50)
    broken = Reading("protocol_error", "stop", cut.response, Problem("cut_stream", "ended early"))
    found = row(tmp_path, broken)
    assert (found["status"], found["finish_reason"], found["tool_calls_valid"]) == ("failed", None, None)
    assert {found[key] for key in ("ttft_ms", "tps", "completion_tokens", "total_tokens")} == {None}
    assert found["response"]["error_type"] == "cut_stream"
    assert found["response"]["partial"] == cut.response


@pytest.mark.parametrize(("first_token", "duration"), [(None, 0.5), (0.5, 0.5), (0.5, 0.509), (0.5, 0.4)])
def test_there_is_no_rate_where_decoding_was_too_short_to_be_measured(
    first_token: float | None, duration: float, tmp_path: Path
) -> None:
    found = row(tmp_path, reading(completion_tokens=50), first_token=first_token, duration=duration)
    assert found["tps"] is None


def test_calls_and_their_finish_reason_are_held_against_each_other(tmp_path: Path) -> None:
    calling = {"content": None, "tool_calls": [CALL]}
    look = {"name": "look", "parameters": {"type": "object", "required": ["city"]}}
    tools = [{"type": "function", "function": look}]
    found = row(tmp_path, reading("tool_calls", calling), tools=tools)
    assert found["tool_calls_valid"] is False
    assert not {"calls_with_other_finish", "tool_calls_without_calls"} & set(found["notes"])
    assert found["calls"][0]["reasons"] == ["missing_required"]
    assert "calls_with_other_finish" in row(tmp_path, reading("stop", calling), tools=tools)["notes"]
    none = row(tmp_path, reading("tool_calls"))
    assert none["tool_calls_valid"] is None
    assert "tool_calls_without_calls" in none["notes"]


@settings(max_examples=examples(0.1), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=ODD_JSON)
def test_a_row_is_the_same_after_the_store(value: Any, tmp_path: Path) -> None:
    made = row(tmp_path, read_body(json.dumps(value).encode(), "application/json"))
    with Store.open(str(tmp_path / "trialbed.db")) as store:
        run = new_run(run_config(frameworks=("acme",)), "digest")
        store.create_run(run)
        store.add_trial(run.run_id, trial_result("acme", made, RowRedaction(()), attempt=0, session="s"))
    with open_store(str(tmp_path / "trialbed.db")) as reader:
        (found,) = row_lines(reader.run(run.run_id), "acme")
    assert parse_json(found) == made
    assert list(parse_json(found)) == list(made)


class Raw(ModelAdapter):
    contract = "1"

    @classmethod
    def recognises(cls, model: str) -> bool:
        return True

    def calls_of(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        raise KeyError("section")


def test_an_adapter_that_fails_costs_no_answer(tmp_path: Path) -> None:
    response = {"choices": [{"index": 0, "finish_reason": "stop", "text": "broken"}]}
    found = row(tmp_path, Reading("stop", "stop", response), adapter=Raw())
    assert found["outcome"] == "stop"
    assert "raw_calls_unreadable" in found["notes"]
