"""Vectors that the gateway makes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed_server.gateway.embeddings import BadRequest, embed


def body(**fields: Any) -> bytes:
    return json.dumps({"model": "m", **fields}).encode()


def test_an_answer_says_its_tokens() -> None:
    made = embed(body(input=["Oslo is far", [1, 2, 3]], dimensions=8))
    document = json.loads(made.body)
    assert [(one["object"], one["index"], len(one["embedding"])) for one in document.pop("data")] == [
        ("embedding", 0, 8),
        ("embedding", 1, 8),
    ]
    usage = {"prompt_tokens": made.tokens, "total_tokens": made.tokens}
    assert document == {"object": "list", "model": "m", "usage": usage}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"input": ["x"] * 2048, "dimensions": 4096}, "more than 3145728 numbers"),
        ({"input": ["x " * 20_000] * 16, "dimensions": 1}, "300000 words together"),
        ({"input": "x", "dimensions": 4097}, "'dimensions'"),
    ],
)
def test_what_would_take_too_long_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        embed(body(**fields))
