"""The answers of the real API that are accepted."""

from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed_server.real import refusal


def answered(response: Any) -> dict[str, Any]:
    return {"error": "", "response": response}


@for_each(
    "response",
    [
        "The answer is 500.",
        "rate limit of the road: 60 km/h; the parameter of the curve does not exist",
        "It timed out in 1954, was blocked and needed authorization: error 404",
        {"price": 1500, "note": "404 and 401(k)"},
        {"status": "ok", "message": "done", "data": []},
        {"status": 404, "title": "A novel", "pages": 401},
        {"message": "Hello world"},
        {"code": 503, "name": "Product 503"},
        {"success": True, "message": "stored"},
        {"error": "", "message": "fine"},
        {"status": 200, "message": "Too few results"},
        [],
        {},
        0,
        False,
        ["status_code=500"],
        "f() got an unexpected keyword argument 'x'",
    ],
)
def test_an_answer_is_kept_whatever_its_words(response: Any) -> None:
    assert refusal(answered(response)) == ""


@for_each(
    "answer",
    [
        None,
        [],
        "text",
        {},
        {"response": "x"},
        {"error": ""},
        {"error": "API not working error...", "response": "x"},
        {"error": {"code": 5}, "response": "x"},
        answered(""),
        answered(None),
        answered("  "),
        answered({"message": "You are not subscribed to this API."}),
        answered({"message": "Too many requests"}),
        answered({"message": "You have exceeded the DAILY quota for Requests on your current plan, BASIC."}),
        answered({"message": "Endpoint '/x' does not exist"}),
        answered({"messages": "The API is unreachable, please contact the API provider", "info": "x"}),
        answered({"status": 429, "message": "slow down"}),
        answered({"statusCode": "503"}),
        answered({"error": "not found", "status": 404}),
        answered({"error": {"type": "x"}}),
        answered({"success": False, "message": "no"}),
        answered("request invalid, data error, status_code=503"),
    ],
)
def test_a_failure_is_told_by_its_structure(answer: Any) -> None:
    assert refusal(answer)
