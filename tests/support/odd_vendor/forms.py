"""Odd forms of a completion."""

from __future__ import annotations

import json
from typing import Any

from support.odd_vendor import TEXT, Odd, body, broken, document, reply
from support.odd_vendor.messages import TOKEN, said


def choice(**fields: Any) -> dict[str, Any]:
    return {**document()["choices"][0], **fields}


FORMS = [
    broken("choices an object", body(choices=document()["choices"][0]), "no_choices"),
    Odd("a null choice first", body(choices=[None, document()["choices"][0]]), found="choice_not_object"),
    broken("message a text", body(choices=[{"index": 0, "message": TEXT, "finish_reason": "stop"}]), "null_message"),
    broken(
        "delta instead of message",
        body(choices=[{"index": 0, "delta": said(TEXT), "finish_reason": "stop"}]),
        "null_message",
    ),
    Odd(
        "text instead of message",
        body(choices=[{"index": 0, "text": TEXT, "finish_reason": "stop"}]),
        found="role_wrong",
    ),
    broken("reason a number", body(reason=1), "no_finish_reason"),
    broken("reason empty", body(reason=""), "no_finish_reason"),
    broken("reason a list", body(reason=["stop"]), "no_finish_reason"),
    Odd(
        "second choice without a reason",
        body(choices=[choice(), choice(index=1, finish_reason=None)]),
        found="choice_incomplete",
        request={"n": 2},
    ),
    Odd(
        "second choice without a message",
        body(choices=[choice(), {"index": 1, "finish_reason": "stop"}]),
        found="choice_incomplete",
        request={"n": 2},
    ),
    Odd("an id that is a number", body(id=7), found="field_wrong_type"),
    Odd("an id that is empty", body(id=""), found="field_missing"),
    Odd("created true", body(created=True), found="field_wrong_type"),
    Odd("created a float", body(created=1767225600.5), found="field_wrong_type"),
    Odd("created negative", body(created=-1), found="created_wrong"),
    Odd("a chunk as an object", body(object="chat.completion.chunk"), found="object_wrong"),
    Odd("model a number", body(model=3), found="field_wrong_type"),
    Odd("model quantised", body(model="m-fp8"), found="other_model"),
    Odd("model of another number", body(model="m-2"), found="other_model"),
    Odd("model with a month and day", body(model="m-0905"), absent="other_model"),
    Odd("model with :free", body(model="acme/m:free"), absent="other_model"),
    Odd("model of a path", body(model="accounts/x/models/m"), absent="other_model"),
    Odd("role null", body({"role": None, "content": TEXT}), found="role_wrong"),
    broken(
        "Anthropic's",
        reply(
            body=json.dumps(
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "text", "text": TEXT}],
                    "stop_reason": "end_turn",
                }
            ).encode()
        ),
        "no_choices",
    ),
    Odd(
        "logprob of a text",
        body(choices=[choice(logprobs={"content": [{**TOKEN, "logprob": "-1"}]})]),
        found="logprobs_wrong",
    ),
    Odd(
        "log probabilities as in raw completions",
        body(choices=[choice(logprobs={"tokens": ["It"], "token_logprobs": [-0.1], "text_offset": [0]})]),
        found="logprobs_wrong",
    ),
    Odd(
        "logprob null",
        body(choices=[choice(logprobs={"content": [{**TOKEN, "logprob": None}]})]),
        found="logprobs_wrong",
    ),
    Odd(
        "logprob token a number",
        body(choices=[choice(logprobs={"content": [{**TOKEN, "token": 5}]})]),
        found="logprobs_wrong",
    ),
    Odd(
        "alternatives above 0",
        body(choices=[choice(logprobs={"content": [{**TOKEN, "top_logprobs": [{"token": "x", "logprob": 2}]}]})]),
        found="logprobs_wrong",
    ),
]
