from __future__ import annotations

from typing import Any

import pytest
from support.scoring import ref

from trialbed.attribution import is_used
from trialbed.records import Query
from trialbed.results import AskedCall

QUERY = Query(query_id=1, text="Who is the mayor of Pelluin?", apis=())


def call(response: Any, arguments: Any = None, started: float = 0.0) -> AskedCall:
    return AskedCall("a", ref("a"), arguments or {}, started, True, "", response)


@pytest.mark.parametrize(
    ("response", "answer", "used"),
    [
        ({"mayor": "Mirel Tidemark"}, "Mirel Tidemark is.", True),
        ({"mayor": "Mirel Tidemark"}, "I do not know.", False),
        ({"city": "Pelluin"}, "Pelluin", None),
        ({"id": "CT-1"}, "CT-1", None),
        ([], "", None),
        (None, "None", None),
        ('{"mayor": "Mirel Tidemark"}', "mirel  tidemark", True),
    ],
)
def test_only_what_is_new_is_evidence(response: Any, answer: str, used: bool | None) -> None:
    assert is_used(call(response, {"id": "CT-1"}), QUERY, answer, []) is used


def test_a_later_call_may_use_a_result_but_not_an_earlier_one() -> None:
    one = call({"id": "CT-153"}, started=1.0)
    assert is_used(one, QUERY, "", [call({}, {"id": "CT-153"}, 2.0)]) is True
    assert is_used(one, QUERY, "", [call({}, {"id": "CT-153"}, 0.5)]) is False


def test_a_huge_response_is_looked_through_in_part() -> None:
    response = [f"value {number}" for number in range(5000)]
    assert is_used(call(response), QUERY, "value 7", []) is True
    assert is_used(call(response), QUERY, "value 4999", []) is False
