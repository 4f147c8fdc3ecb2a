"""Causes of lower scores under a native profile."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from support.cases import for_each

from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    Failure,
    FailureKind,
    FilledArgument,
    LostCall,
    ModelCall,
    Outcome,
    SentCall,
    Timing,
    TrialKey,
    TrialResult,
    WireLog,
)
from trialbed.report.comparison._run import UNTOLD, loss_cause

NOW = datetime(2026, 1, 1, tzinfo=UTC)
API = ApiRef(category="Weather", tool_name="Weather", api_name="now")


def asked(*calls: SentCall, **fields: Any) -> ModelCall:
    sizes = {"request": "{}", "response": "", "request_bytes": 0, "response_bytes": 0}
    return ModelCall(**{"started": 0, "duration": 0, "status": 200, **sizes, "tool_calls": calls, **fields})


def called(error: str = "", started: float = 0, **arguments: Any) -> ApiCall:
    return ApiCall(started=started, duration=0, api=API, offered=True, arguments=arguments, error=error)


def trial(*requests: ModelCall, failure: tuple[FailureKind, str] | None = None, **wire: Any) -> TrialResult:
    found = None if failure is None else Failure(kind=failure[0], message=failure[1])
    return TrialResult(
        trial="token-token",
        key=TrialKey(framework="acme:native", query_id=1),
        seed=0,
        outcome=Outcome(started_at=NOW, wall_time=1, failure=found),
        wire=WireLog(trial="token-token", opened_at=NOW, model_calls=requests, **wire),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=("now",),
    )


GOOD = SentCall(name="now", arguments="{}")
RENAMED = SentCall(name="mcp_now", arguments="{}", tool="now")
FILLED = FilledArgument(position=0, tool="now", argument="unit")
OTHER = SentCall(name="now", arguments='{"unit": 1}')
CONTROLLED = trial(asked(GOOD), asked(), api_calls=(called(),))


@for_each(
    ("native", "cause"),
    [
        (trial(asked(GOOD), failure=("agent", "ModelHTTPError: no")), "an error ended the run (ModelHTTPError)"),
        (trial(failure=("agent", "openai.BadRequestError: no")), "an error ended the run (BadRequestError)"),
        (trial(failure=("timeout", "no answer in 3 s")), "an error ended the run (timeout)"),
        (
            trial(asked(status=403, cause="limit", limit="max_steps"), failure=("limit", "PermissionDenied: over")),
            "a limit ended the run (max_steps); the controlled profile is told of it and ends by itself",
        ),
        (
            trial(asked(), lost=(LostCall(position=0, tool="now", reason="not offered"),)),
            "a tool could not be called (not offered)",
        ),
        (
            trial(asked(SentCall(name="now", arguments="{", problem="invalid json"))),
            "the run ended at arguments that are not a JSON object",
        ),
        (
            trial(asked(SentCall(name="no", arguments="{}", problem="unknown tool"))),
            "the run ended at a tool that does not exist",
        ),
        (trial(asked(GOOD)), "the run ended after calls, without asking the model about their results"),
        (
            trial(asked(GOOD), asked(), api_calls=(called("invalid", unit=1),)),
            "calls whose arguments the framework changed, and the Api then refused",
        ),
        (
            trial(asked(OTHER), asked(), api_calls=(called("invalid", unit=1),)),
            "the model asked for other calls than under the controlled profile",
        ),
        (trial(asked(RENAMED), asked()), "calls that the framework did not make"),
        (
            trial(asked(GOOD), asked(), api_calls=(called(),), filled=(FILLED,)),
            "optional arguments that the framework offered as required",
        ),
        (
            trial(
                asked(RENAMED),
                asked(SentCall(name="now", arguments="{}", problem="unknown tool")),
                asked(),
                api_calls=(called(),),
            ),
            "renamed tools: the model called one by another name",
        ),
        (trial(asked(RENAMED), asked(), asked(), api_calls=(called(),)), "requests of the framework's own"),
        (trial(asked()), "the model asked for other calls than under the controlled profile"),
        (trial(), "the framework ended the run early"),
        (
            trial(asked(GOOD), asked(), api_calls=(called(unit=1),)),
            "calls whose arguments the framework changed",
        ),
        # The model's own bad call is refused by a framework: first of all, the model asked for something else.
        (
            trial(asked(OTHER), asked(started=1)),
            "the model asked for other calls than under the controlled profile; calls that the framework did not make",
        ),
        # The framework does not make the first call, whatever the model asks for then.
        (
            trial(asked(GOOD), asked(OTHER, started=1), asked(started=2), api_calls=(called(started=2, unit=1),)),
            "calls that the framework did not make",
        ),
        (trial(asked(RENAMED), asked(), api_calls=(called(),)), UNTOLD),
    ],
)
def test_the_wire_tells_the_cause(native: TrialResult, cause: str) -> None:
    assert loss_cause(native, CONTROLLED) == cause


def test_a_result_that_the_model_is_not_told_of_is_the_frameworks() -> None:
    made = called().model_copy(update={"response": {"mayor": "Mirel Tidemark"}})

    def told(text: str) -> TrialResult:
        request = json.dumps({"messages": [{"role": "tool", "content": text}]})
        later = asked(started=1, request=request)
        return trial(asked(GOOD), later, api_calls=(made,))

    whole, cut = told('{"mayor": "Mirel Tidemark"}'), told("…")
    assert loss_cause(cut, whole) == "results that the framework did not tell the model"
    assert loss_cause(whole, whole) == UNTOLD


def test_another_answer_than_the_models_is_the_frameworks() -> None:
    def answered(text: str) -> TrialResult:
        reply = json.dumps({"choices": [{"message": {"role": "assistant", "content": "It is Mirel Tidemark."}}]})
        result = trial(asked(GOOD), asked(started=1, response=reply), api_calls=(called(),))
        answer = Answer(final_answer=text, finish="give_answer")
        return result.model_copy(update={"outcome": result.outcome.model_copy(update={"answer": answer})})

    assert loss_cause(answered("I cannot."), answered("Mirel Tidemark")) == "an answer that is not the model's"
    assert loss_cause(answered("Mirel Tidemark"), answered("Mirel Tidemark")) == UNTOLD
