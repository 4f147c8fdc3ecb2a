"""What a user sees of a model that errs, through the real command, workers and server."""

from __future__ import annotations

import pytest
from support.measured import Fidelity, Measured

from trialbed_adapter_lab.fidelity import ErrorFinding

pytestmark = pytest.mark.slow(60)


@pytest.fixture(scope="module")
def measured(fidelity: Fidelity) -> Measured:
    return fidelity("langgraph", options=("--profile", "native", "--profile", "controlled", "--part", "errors"))


def findings(measured: Measured, framework: str) -> dict[str, ErrorFinding]:
    found = measured.of(framework).errors
    assert found is not None
    return {finding.case: finding for finding in found}


@pytest.mark.parametrize("framework", ["reference", "langgraph:controlled"])
def test_under_equal_conditions_the_model_is_told_of_bad_calls(measured: Measured, framework: str) -> None:
    found = findings(measured, framework)
    for case in ("arguments that are not JSON", "arguments that are a list", "a tool that is not offered"):
        assert found[case].seen == "answer", case
        assert found[case].told, case
    assert (found["calls without end"].requests, found["calls without end"].refused) == (30, 0)
    own = "trialbed.errors.ModelFailed" if framework == "reference" else "RateLimitError"
    assert str(found["status 429 always"].exception).endswith(own)
    assert found["status 429 always"].requests == 1


def test_the_native_program_ends_without_a_word_at_arguments_that_are_not_json(measured: Measured) -> None:
    found = findings(measured, "langgraph:native")["arguments that are not JSON"]
    assert (found.seen, found.exception, found.requests, found.calls) == ("empty answer", "", 1, 0)


@pytest.mark.parametrize(
    ("case", "exception", "requests"),
    [
        ("arguments that are a list", "ValidationError", 1),
        ("status 429 always", "OpenAIRateLimitError", 3),
        ("status 500 always", "OpenAIAPIError", 3),
        ("status 400", "OpenAIInvalidRequestError", 1),
        ("status 403", "OpenAIPermissionDeniedError", 1),
        ("an answer without choices", "IndexError", 1),
    ],
)
def test_the_type_of_an_exception_and_the_repeats_show(
    measured: Measured, case: str, exception: str, requests: int
) -> None:
    found = findings(measured, "langgraph:native")[case]
    assert (found.seen, found.exception.rpartition(".")[2], found.requests) == ("exception", exception, requests)


def test_a_failure_that_passes_is_repeated_and_answered(measured: Measured) -> None:
    for status in (429, 500):
        found = findings(measured, "langgraph:native")[f"status {status} once"]
        assert (found.seen, found.requests) == ("answer", 2)


def test_a_framework_without_an_end_is_stopped_by_the_limit(measured: Measured) -> None:
    for case, requests in (("calls without end", 30), ("status 403 after 3 requests", 3)):
        found = findings(measured, "langgraph:native")[case]
        assert (found.requests, found.refused) == (requests, 1)
        assert found.exception.endswith("OpenAIPermissionDeniedError")
