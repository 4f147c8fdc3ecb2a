from __future__ import annotations

import json
from typing import Any

from support.cases import for_each
from support.fidelity import model_call, observed, request

from trialbed.records import Answer, Failure, ModelCall
from trialbed_adapter_lab.fidelity.behaviour import CASES, ErrorFinding, exception_type, finding_of

QUESTION = {"role": "user", "content": "q"}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "17 degrees"}


def answered(content: str | None, *messages: dict[str, Any], **fields: Any) -> ModelCall:
    response = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]})
    return model_call(request(QUESTION, *messages), response=response, **fields)


def refused(status: int, message: str, **fields: Any) -> ModelCall:
    return model_call(request(QUESTION), status=status, response=json.dumps({"error": {"message": message}}), **fields)


def finding(text: str, *calls: ModelCall) -> ErrorFinding:
    return finding_of("case", observed(*calls, answer=Answer(final_answer=text, finish=None)))


@for_each(
    ("text", "seen"),
    [
        ("It is warm.", "answer"),
        ("Thought. It is warm.", "answer"),
        (" ", "empty answer"),
        ("17 degrees", "tool result"),
        ("slow down", "error text"),
        ("Error code 429: slow down", "error text"),
        ("Agent stopped due to max iterations.", "other text"),
    ],
)
def test_what_the_answer_is_shows(text: str, seen: str) -> None:
    calls = [answered(None), refused(429, "slow down"), answered("It is warm.", RESULT)]
    assert finding(text, *calls).seen == seen


def test_what_the_model_is_told_of_its_call_is_kept() -> None:
    found = finding("It is warm.", answered(None), answered("It is warm.", RESULT))
    assert found.told == "17 degrees"
    parts = {**RESULT, "content": [{"type": "text", "text": "17 "}, {"type": "text", "text": "degrees"}]}
    assert finding("", answered(None), answered("", parts)).told == "17 degrees"


def test_requests_past_the_limit_are_counted_apart() -> None:
    found = finding("this is over", answered(None), refused(403, "this is over", limit="max_steps"))
    assert (found.requests, found.refused, found.seen) == (1, 1, "error text")


@for_each(
    ("message", "detail", "name"),
    [
        ("RateLimitError: slow", "Traceback …\nopenai.RateLimitError: slow\n", "openai.RateLimitError"),
        ("KeyError: 'a'", "Traceback …\nKeyError: 'a'\n", "KeyError"),
        ("ValidationError: 1 error\nargs\n  wrong", "…\npydantic.ValidationError: 1 error\nargs\n  wrong\n",
         "pydantic.ValidationError"),
        ("the model refused", "…\nopenai.X: no\n\n…\ntrialbed.errors.ModelFailed: the model refused\n",
         "trialbed.errors.ModelFailed"),
        ("ExceptionGroup: one", "  + Traceback\n  | ExceptionGroup: one\n  | a.b: c\n", "ExceptionGroup"),
    ],
)  # fmt: skip
def test_the_type_of_an_exception_is_told_as_python_writes_it(message: str, detail: str, name: str) -> None:
    assert exception_type(Failure(kind="agent", message=message, detail=detail)) == name


def test_a_worker_that_waits_or_dies_raised_nothing() -> None:
    for kind, seen in (("timeout", "waits"), ("crash", "worker died")):
        failure = Failure.model_validate({"kind": kind, "message": "exit code 7", "detail": "some.Error: x"})
        found = finding_of("case", observed(answered(None), failure=failure))
        assert (found.seen, found.exception) == (seen, "")


def test_every_case_has_a_title_of_its_own() -> None:
    titles = [*CASES]
    assert len(set(titles)) == len(titles)
