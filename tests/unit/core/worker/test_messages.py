"""The lines between executor and worker."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.records import Answer, Outcome
from trialbed.worker import Begin, Done, Hello, Started, message_line, read_command, read_reply


@given(st.text(st.characters(codec="utf-8")))
def test_a_message_is_one_line_and_is_read_back(text):
    outcome = Outcome(started_at=datetime.now(UTC), wall_time=1.5, answer=Answer(final_answer=text))
    message = Done(nonce="n", trial="t", outcome=outcome)
    line = message_line(message)
    assert line.count(b"\n") == 1
    assert read_reply(line, "n") == message


def test_a_reply_needs_the_nonce():
    line = message_line(Started(nonce="theirs", trial="t"))
    with pytest.raises(ValueError, match="nonce"):
        read_reply(line, "ours")


@given(st.binary())
def test_other_bytes_are_no_reply(line):
    with pytest.raises(ValueError, match=r".*"):
        read_reply(line, "n")


def test_a_command_is_no_reply():
    with pytest.raises(ValueError, match="tag"):
        read_reply(message_line(Hello(nonce="n")), "n")


def test_commands_are_read():
    assert read_command(b'{"type": "hello", "nonce": "n"}') == Hello(nonce="n")
    with pytest.raises(ValueError, match="spec"):
        read_command(json.dumps({"type": "begin"}).encode())
    assert Begin.model_fields["type"].default == "begin"
