"""Errors: the user's view of a framework whose model errs or whose endpoint fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from trialbed.engine import new_trial_token
from trialbed.records import Failure, Limits, ModelCall, Record
from trialbed.wire import recorded_answer, recorded_request
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.harness import (
    FAULTY,
    FAULTY_ANSWERS,
    HUGE_NUMBER,
    MARK,
    REFUSING,
    Observed,
    WorkerHarness,
    stations,
)

CALLS = 2
TOOLS = 4
TIMEOUT = 60.0
PATIENCE = 20.0
"""Seconds for an answer at which a framework may wait for ever; it has one call to make."""

MOST = 30
"""Requests that a model without end gets; more than any framework's own limit of those that are measured."""

FEW = 3
"""Requests that a trial gets whose limit comes before any framework's own."""

LONGEST = 300
"""Characters of a text that are kept."""

Seen = Literal["answer", "other text", "error text", "tool result", "empty answer", "exception", "waits", "worker died"]


@dataclass(frozen=True)
class ErrorCase:
    """One way in which a model errs.

    Attributes:
        model: of its scenario; where it ends in ``MARK``, each trial adds one of its own.
    """

    title: str
    model: str
    limits: Limits = Limits(max_steps=MOST, timeout=TIMEOUT)  # noqa: RUF009 - frozen


def _scripted_case(policy: str, title: str, **fields: Any) -> ErrorCase:
    return ErrorCase(title, f"scripted:{policy}", **fields)


def _faulty_case(title: str) -> ErrorCase:
    timeout = PATIENCE if title == HUGE_NUMBER else TIMEOUT
    return ErrorCase(title, f"{FAULTY}{title}{MARK}", Limits(max_steps=MOST, timeout=timeout))


CASES: tuple[ErrorCase, ...] = (
    _scripted_case("bad-json", "arguments that are not JSON"),
    *map(_faulty_case, FAULTY_ANSWERS),
    _scripted_case("retry", "arguments against the schema, once"),
    _scripted_case("wrong-args", "arguments against the schema, always"),
    _scripted_case("unknown-tool", "a tool that is not offered"),
    _scripted_case("extra", "a tool that is not needed"),
    _scripted_case("none", "no call at all"),
    _scripted_case("giveup", "gives up after a call"),
    ErrorCase("status 429 once", f"{REFUSING}429-once{MARK}"),
    ErrorCase("status 500 once", f"{REFUSING}500-once{MARK}"),
    *(ErrorCase(f"status {status} always", f"{REFUSING}{status}") for status in (429, 500)),
    *(ErrorCase(f"status {status}", f"{REFUSING}{status}") for status in (400, 401, 403)),
    _scripted_case("loop", "calls without end"),
    _scripted_case("loop", f"status 403 after {FEW} requests", limits=Limits(max_steps=FEW, timeout=TIMEOUT)),
)


class ErrorFinding(Record):
    """The view that a user of the framework has of one case.

    Attributes:
        case: its title.
        seen: ``answer``: the model's text; ``other text``: one that is neither the model's nor the next two;
            ``error text``: that of the endpoint's error; ``tool result``: that of a call, which no model has read;
            ``empty answer``: none, and no exception; ``exception``; ``waits``: it did not end, and sent no request.
        exception: the type, with its module as Python writes it; empty where none was raised.
        text: of the answer, or of the exception; cut if it is long.
        told: the result of its call that the model got in the next request; empty if it was not asked again.
        requests: to the model, without those past the trial's limit. ``refused``: those, without which the framework
            would have gone on.
        calls: that reached an Api.
    """

    case: str
    seen: Seen
    exception: str = ""
    text: str = ""
    told: str = ""
    requests: int
    refused: int = 0
    calls: int


async def measure_errors(harness: WorkerHarness) -> tuple[ErrorFinding, ...]:
    """Run every case.

    Raises:
        NotMeasured: the framework fails with a model that does not err.
    """
    (await harness.run(stations(TOOLS, CALLS))).require_success()
    return tuple([await _finding(harness, case) for case in CASES])


async def _finding(harness: WorkerHarness, case: ErrorCase) -> ErrorFinding:
    model = case.model + (new_trial_token() if case.model.endswith(MARK) else "")
    seen = await harness.run(stations(TOOLS, CALLS, model=model, limits=case.limits))
    if seen.failure is not None and seen.failure.kind in ("server", "adapter"):
        raise NotMeasured(f"{case.title}: {seen.ended}")
    return finding_of(case.title, seen)


def finding_of(case: str, observed: Observed) -> ErrorFinding:
    """Return the user's view of a trial."""
    calls, failure, answer = observed.wire.model_calls, observed.failure, observed.answer
    refused = sum(call.limit is not None for call in calls)
    text = failure.message if failure else answer.final_answer if answer else ""
    return ErrorFinding(
        case=case,
        seen=_classify_failure(failure) if failure else _classify_answer(text, calls),
        exception=exception_type(failure) if failure else "",
        text=text[:LONGEST],
        told=_first_result(calls)[:LONGEST],
        requests=len(calls) - refused,
        refused=refused,
        calls=len(observed.wire.api_calls),
    )


def exception_type(failure: Failure) -> str:
    """Return the type of the exception that the agent raised, with its module; empty if it raised none."""
    if failure.kind not in ("agent", "model", "answer", "memory"):
        return ""
    named = re.match(r"([A-Za-z_]\w*)(?::|$)", failure.message)
    found: list[str] = re.findall(
        r"^(?:  \| )*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::.*)?$", failure.detail, re.MULTILINE
    )
    exact = [name for name in found if named and name.rpartition(".")[2] == named[1]]
    qualified = [name for name in found if "." in name]
    return (exact or qualified or [named[1] if named else ""])[-1]


def _classify_failure(failure: Failure) -> Seen:
    if failure.kind == "timeout":
        return "waits"
    return "exception" if exception_type(failure) else "worker died"


def _classify_answer(text: str, calls: Sequence[ModelCall]) -> Seen:
    if not text.strip():
        return "empty answer"
    if any(said and said in text for said in _texts(calls)):
        return "answer"
    if any(call.status >= 400 and text in _message(call) for call in calls) or _in_error(text, calls):
        return "error text"
    if any(result.strip() and result.strip() in text for result in _results(calls)):
        return "tool result"
    return "other text"


def _in_error(text: str, calls: Sequence[ModelCall]) -> bool:
    """Return whether the text reports an error of the endpoint in more words than its own."""
    return any(message and message in text for message in map(_message, calls))


def _message(call: ModelCall) -> str:
    """Return the message of the endpoint's error; empty where there is none."""
    try:
        message = json.loads(call.response)["error"]["message"]
    except (ValueError, TypeError, LookupError):
        return ""
    return message if isinstance(message, str) else ""


def _texts(calls: Sequence[ModelCall]) -> Iterator[str]:
    """Yield the texts of the model."""
    for call in calls:
        content = recorded_answer(call).answer.content
        if isinstance(content, str):
            yield content.strip()


def _results(calls: Sequence[ModelCall]) -> Iterator[str]:
    """Yield the results of its calls that the framework sent to the model."""
    requests = (request for call in calls if (request := recorded_request(call)) is not None)
    return (message.text for request in requests for message in request.messages if message.role == "tool")


def _first_result(calls: Sequence[ModelCall]) -> str:
    """Return the first result of a call of the model's first answer."""
    return next(_results(calls[1:]), "")
