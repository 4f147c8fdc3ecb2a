"""What is recorded of a request whose connection was closed."""

from __future__ import annotations

import json

from trialbed.records import Usage
from trialbed_server.gateway.exchange import RecordedExchange
from trialbed_server.trials import LogBudget


def test_a_closed_connection_is_told_as_the_silence_of_the_endpoint_where_it_was_that() -> None:
    def left(*, silent: bool) -> tuple[str | None, str | None]:
        exchange = RecordedExchange(lambda: 0.0, LogBudget(), b"{}")
        exchange.attempt_began(lambda: silent)
        exchange.left()
        record = exchange.record()
        return record.cause, record.error

    assert left(silent=True) == ("endpoint", "the endpoint had not answered when the connection was closed")
    assert left(silent=False) == ("gone", "the framework closed the connection before the answer was complete")


def test_a_request_in_flight_counts_its_seconds_and_the_tokens_of_its_stream_and_none_afterwards() -> None:
    now = 2.0
    exchange = RecordedExchange(lambda: now, LogBudget(), b"{}")
    now = 5.0
    assert exchange.flight() == (3.0, None)
    exchange.began(200, events=True)
    exchange.wrote(b"data: 1\n\ndata: 2\n\n")
    assert exchange.flight() == (3.0, 2)
    exchange.end()
    assert exchange.flight() is None


def test_the_time_in_which_a_request_waits_for_another_one_is_not_the_agents() -> None:
    now = 2.0
    exchange = RecordedExchange(lambda: now, LogBudget(), b"{}")
    with exchange.held():
        now = 5.0
        assert exchange.waiting() == (2.0, 5.0)
        assert exchange.record().cause == "endpoint"
    now = 9.0
    assert exchange.waiting() == (2.0, 5.0)
    assert exchange.record().cause == "gone"


def test_neither_a_look_at_the_tokens_nor_a_request_beside_the_model_takes_space_of_the_log() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    answer = json.dumps({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": usage}).encode()
    budget = LogBudget(trial=len(answer) + 2)
    beside, exchange = (RecordedExchange(lambda: 0.0, budget, b"{}") for _ in range(2))
    beside.beside = True
    for one in (beside, exchange):
        one.began(200, events=False)
        one.wrote(answer)
        one.done = True
        used = one.used()
        one.end()
    assert used == Usage(**usage)
    assert (beside.record().response, exchange.record().response) == ("", answer.decode())


def test_tokens_that_are_not_reported_are_estimated() -> None:
    exchange = RecordedExchange(lambda: 0.0, LogBudget(), b"x" * 40)
    exchange.began(200, events=True)
    exchange.wrote(b"data: {}\n\ndata: {}\n\n")
    assert exchange.used() == Usage(prompt_tokens=10, completion_tokens=2)


def test_the_seconds_of_a_slow_fault_are_not_the_models() -> None:
    now = 1.0
    exchange = RecordedExchange(lambda: now, LogBudget(), b"{}")
    exchange.slowed = 30.0
    now = 33.0
    exchange.began(200, events=False)
    exchange.wrote(b'{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}')
    exchange.done = True
    answer = exchange.whole_answer()
    assert answer is not None
    assert answer.duration == 2
