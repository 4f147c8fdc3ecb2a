from __future__ import annotations

import pytest
from support.scoring import api_call, gold_call, scores

from trialbed.records import ApiCall

CITY = api_call("a", {"name": "Pelluin"}, response={"mayor": "Mirel Tidemark", "id": "CT-153"})
DETAILS = api_call("b", {"id": "CT-153"}, started=2, response={"nickname": "Amber Gate"})


@pytest.mark.parametrize(
    ("called", "answer", "value"),
    [
        ([CITY], "It is mirel tidemark.", 1),
        ([CITY], "It is someone.", 0),
        ([CITY, DETAILS], "It is the Amber Gate.", 1),
        ([CITY, DETAILS], "No idea.", 0.5),
        ([CITY, CITY, DETAILS], "No idea.", 0.5),
    ],
)
async def test_a_result_is_used_in_the_answer_or_in_a_later_call(
    called: list[ApiCall], answer: str, value: float
) -> None:
    found = (await scores([gold_call("a")], called, final_answer=answer))["used_results"]
    assert (found.value, found.quality) == (value, False)


@pytest.mark.parametrize(
    "called",
    [
        [],
        [api_call("a", {}, error="no")],
        [api_call("a", {"name": "Pelluin"}, response={"name": "Pelluin", "ok": True})],
        [api_call("a", {}, response={})],
    ],
)
async def test_where_nothing_new_was_told_nothing_can_be_used(called: list[ApiCall]) -> None:
    assert "used_results" not in await scores([gold_call("a")], called, final_answer="Pelluin")


async def test_the_detail_names_what_was_not_used() -> None:
    found = (await scores([], [CITY, DETAILS], final_answer="?"))["used_results"]
    assert found.detail == {"used": ["t_a"], "unused": ["t_b"], "reason": "t_b: not used"}
