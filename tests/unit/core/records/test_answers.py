"""How an agent's end is read from its last words."""

from __future__ import annotations

from support.cases import for_each

from trialbed import SYSTEM_PROMPT
from trialbed.records import GIVE_UP, finish_of


@for_each(
    ("text", "finish"),
    [
        ("", None),
        (" \n\t", None),
        ("It is 21 degrees.", "give_answer"),
        ("GIVE_UP the Api is down", "give_up_and_restart"),
        ("\n  GIVE_UP", "give_up_and_restart"),
        ("I will not GIVE_UP: it is 21 degrees.", "give_answer"),
    ],
)
def test_finish_of(text: str, finish: str | None) -> None:
    assert finish_of(text) == finish


def test_the_prompt_tells_how_to_give_up() -> None:
    assert f" {GIVE_UP} " in SYSTEM_PROMPT
