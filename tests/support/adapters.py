"""Tests that this project's adapters share, and functions that read a trial of the kit's harness."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from trialbed.records import Answer
from trialbed_adapter_lab import Harness, Latch, TrialRecord
from trialbed_scripted import Response, ask, call, fail

EACH_ALONE = """
import sys
from importlib import import_module

package = sys.argv[1]
for one, other in (("native", "controlled"), ("controlled", "native")):
    import_module(f"{package}.{one}")
    names = [name for name in sys.modules if name.partition(".")[0] == package]
    assert not any(f"{package}.{other}" in name for name in names), f"{one} imports {other}"
    for name in names:
        del sys.modules[name]
"""
"""Imports each profile where nothing of the adapter is imported yet."""

NO_COMPLETIONS = ("", "<html>", "[]", "{}", '{"choices": []}', '{"choices": [{"message": null}]}')


HELD = 5.0
"""Seconds that a tool is held back at most where its caller gives up by a clock that cannot be put forward."""

GIVEN_UP = 3.0
"""Seconds after which such a caller gives up."""


@pytest.mark.usefixtures("no_waiting")
class NativeTests:
    """Tests of every native profile; a subclass names the adapter and its package.

    Its clients repeat requests, and wait before: in its conformance checks too they need not.

    Class attributes:
        package: the adapter's.
    """

    package = ""

    @pytest.fixture(autouse=True)
    def _endless_tools_are_left_soon(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the check of a tool without an end take seconds, not a minute, in threads and with clients that wait."""
        if "[tool_that_takes_too_long]" in request.node.name:
            monkeypatch.setattr("trialbed.tools.TOOL_TIMEOUT", GIVEN_UP)
            monkeypatch.setattr("trialbed_adapter_lab.checks.patience.Latch", partial(Latch, HELD))

    def test_the_program_stays_short(self) -> None:
        file = importlib.import_module(f"{self.package}.native").__file__
        assert file is not None
        assert len(Path(file).read_text(encoding="utf-8").splitlines()) < 120

    def test_no_profile_imports_the_other(self) -> None:
        """In one process: to import a framework takes seconds."""
        subprocess.run([sys.executable, "-c", EACH_ALONE, self.package], check=True)

    @pytest.mark.parametrize("status", [429, 500])
    async def test_a_request_that_fails_once_is_repeated(self, harness: Harness, status: int) -> None:
        record = await harness.run(fail(status), "done")
        assert (said(record), len(record.requests)) == ("done", 2)
        assert record.requests[0].body == record.requests[1].body


class ControlledTests:
    """Tests of every controlled profile; a subclass names the adapter."""

    async def test_the_temperature_is_zero_where_none_is_given(self, harness: Harness) -> None:
        record = await harness.run("done", temperature=None)
        assert record.requests[0].body["temperature"] == 0.0

    @pytest.mark.parametrize("body", NO_COMPLETIONS)
    async def test_what_is_no_completion_is_the_models_failure(self, harness: Harness, body: str) -> None:
        record = await harness.run(Response.text(body), "an answer that is never asked for")
        assert record.failure is not None
        assert record.failure.kind == "model"
        assert len(record.requests) == 1


LIMITS = {"chat_completions": "max_tokens", "messages": "max_tokens", "responses": "max_output_tokens"}
"""Dialect -> its name for the limit of an answer."""


async def check_dialect(harness: Harness, dialect: str) -> None:
    """Play a trial of a program over another class for models: it asks in that dialect, as it is told, to the end."""
    made = ask(call("Echo_text", {"text": "one"}))
    record = await harness.run(made, "done", system_prompt="Be brief.", temperature=0.5, max_tokens=77, seed=7)
    assert [request.dialect for request in record.requests] == [dialect, dialect]
    assert said(record) == "done"
    body = record.requests[0].body
    assert (body["temperature"], body[LIMITS[dialect]]) == (0.5, 77)
    assert dialect != "chat_completions" or body["seed"] == 7
    assert "Be brief." in record.requests[0].request.messages[0].text
    assert len(results(record)) == 1
    # CrewAI writes names in lower case.
    assert [claimed.name.casefold() for claimed in answered(record).calls] == ["echo_text"]
    assert answered(record).usage is not None


def answered(record: TrialRecord) -> Answer:
    """Return the answer of a trial that did not fail."""
    assert record.answer is not None, record.failure
    return record.answer


def said(record: TrialRecord) -> str:
    """Return the answer, or the type of the exception that ended the run."""
    return failure(record).partition(":")[0] if record.answer is None else record.answer.final_answer


def failure(record: TrialRecord) -> str:
    """Return the message of the exception that ended the run."""
    assert record.failure is not None, record.answer
    return record.failure.message


def results(record: TrialRecord) -> list[str]:
    """Return what the model was told of its calls in the last request."""
    return [text for _, text in record.requests[-1].results]


def refusal(status: int, message: str, code: str | None = None) -> Response:
    """Return a refusal of the model's endpoint in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": None}
    return Response.text(json.dumps({"error": error}), status=status)
