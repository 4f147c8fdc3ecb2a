"""What a framework does to the history of a conversation."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from trialbed.history import find_forgotten, read_history
from trialbed.records import ModelCall, WireLog, WireTurn

S = {"role": "system", "content": "You are a clerk."}
TOOLS = [{"type": "function", "function": {"name": "find_order", "parameters": {"type": "object"}}}]
RESULT = '{"price": "12.50 EUR"}'


def u(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def a(text: str | None, arguments: str = "") -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": "find_order", "arguments": arguments}}
    return {"role": "assistant", "content": text, **({"tool_calls": [call]} if arguments else {})}


def t(text: str = RESULT) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c", "content": text}


def request(at: float, messages: list[Any], answer: dict[str, Any], **more: Any) -> ModelCall:
    body = json.dumps({"model": "m", "messages": messages, "tools": more.pop("tools", TOOLS)})
    reason = "tool_calls" if "tool_calls" in answer else "stop"
    reply = json.dumps({"id": "r", "choices": [{"index": 0, "message": answer, "finish_reason": reason}]})
    return recorded(at, body, reply, **more)


def recorded(at: float, body: str, reply: str, **more: Any) -> ModelCall:
    sizes = {"request_bytes": len(body), "response_bytes": len(reply)}
    return ModelCall(**{"started": at, "duration": 0.1, "status": 200, **sizes, **more}, request=body, response=reply)


def wire(turns: list[str], *calls: ModelCall) -> WireLog:
    said = tuple(WireTurn(started=float(at), text=text) for at, text in enumerate(turns))
    return WireLog(trial="1", opened_at=datetime.now(UTC), turns=said, model_calls=calls)


TEXTS = ["My order is 4711.", "How much was it?", "And when?"]
FIRST = [
    request(0.1, [S, u(TEXTS[0])], a("Noted.")),
    request(1.1, [S, u(TEXTS[0]), a("Noted."), u(TEXTS[1])], a(None, '{"id": 4711}')),
    request(1.2, [S, u(TEXTS[0]), a("Noted."), u(TEXTS[1]), a(None, '{"id":4711}'), t()], a("It was 12.50 EUR.")),
]
"""Two turns of a framework that keeps everything; the second makes a call."""
WHOLE = [u(TEXTS[0]), a("Noted."), u(TEXTS[1]), a(None, '{"id": 4711}'), t(), a("It was 12.50 EUR.")]
GLUED = [
    u(f"New task:\n{TEXTS[0]}"),
    a("Calling tools: [{'name': 'find_order', 'arguments': {'id': 4711}}] Noted."),
    u(f"Task: {TEXTS[1]}\nObservation:\n{RESULT}"),
    u(f"Observation:\nIt was 12.50 EUR.\nNew task:\n{TEXTS[2]}"),
]


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([S, *WHOLE, u(TEXTS[2])], "all 6 messages kept"),
        ([S, *WHOLE[:2], u(f"Task: {TEXTS[1]}"), *WHOLE[3:], u(TEXTS[2])], "all 6 messages kept; 1 rewritten"),
        ([S, *WHOLE[2:], u(TEXTS[2])], "2 of 6 messages dropped (first: user: My order is 4711.)"),
        (
            [S, *WHOLE[:3], WHOLE[5], u(TEXTS[2])],
            '2 of 6 messages dropped (first: assistant: asks for find_order {"id":4711}); 1 tool result gone',
        ),
        ([S, *WHOLE[2:], *WHOLE[:2], u(TEXTS[2])], "all 6 messages kept; 4 reordered"),
        ([S, *GLUED], "all 6 messages kept; 6 rewritten; 1 reordered"),
        (
            [S, u("A summary: the price was 12.50 EUR."), u(TEXTS[2])],
            "6 of 6 messages dropped (first: user: My order is 4711.); 1 tool result gone; "
            "1 added (first: user: A summary: the price was 12.50 EUR.)",
        ),
        ([*WHOLE, u(TEXTS[2])], "no system prompt; all 6 messages kept"),
        ([S, S, *WHOLE, u(TEXTS[2])], "the system prompt is repeated; all 6 messages kept"),
        ([{**S, "content": "x"}, *WHOLE, u(TEXTS[2])], "another system prompt than in turn 1; all 6 messages kept"),
        ([S, *WHOLE], "all 6 messages kept; without the user's message"),
    ],
)
def test_a_turn_is_compared_with_the_one_before(messages: list[Any], says: str) -> None:
    found = read_history(wire(TEXTS, *FIRST, request(2.1, messages, a("On Monday."), usage={"prompt_tokens": 90})))
    assert found[2].text == f"turn 3: {says}; 90 tokens"
    lost = ("dropped", "reordered", "no system prompt", "without")
    assert found[2].is_kept == (not any(word in says for word in lost))
    assert [turn.is_kept for turn in found[:2]] == [True, True]


def test_equal_answers_in_another_role_stand_in_their_order() -> None:
    """A framework may send answers as words of the user; equal ones are each found behind the message before it."""
    calls = [
        request(
            at + 0.1, [S, *(u(text) for said in TEXTS[:at] for text in (said, "Noted.")), u(TEXTS[at])], a("Noted.")
        )
        for at in range(3)
    ]
    assert [turn.reordered for turn in read_history(wire(TEXTS, *calls))] == [0, 0, 0]


def test_a_call_that_is_repeated_until_the_limit_keeps_its_place() -> None:
    """The result of a turn's last call is only in the next turn's request, and equal to those of the others."""
    looked = [a(None, '{"id": 4711}'), t()]
    calls = [request(0.1 + n / 10, [S, u(TEXTS[0]), *looked * n], looked[0]) for n in range(3)]
    now = request(1.1, [S, u(TEXTS[0]), *looked * 3, u(TEXTS[1])], a("It was 12.50 EUR."), usage={"prompt_tokens": 90})
    log = wire(TEXTS[:2], *calls, now)
    stopped = log.turns[0].model_copy(update={"at_limit": True})
    found = read_history(log.model_copy(update={"turns": (stopped, log.turns[1])}))
    assert found[0].text.startswith("turn 1: ended at the limit of requests (max_steps); ")
    assert found[1].text == "turn 2: all 6 messages kept; 90 tokens"


def test_a_message_that_is_said_again_stands_behind_what_came_before() -> None:
    """The framework writes words of its own before the newest message alone."""
    said, again = u(TEXTS[0]), u(f"Current Task: {TEXTS[0]}")
    first = request(0.1, [S, again], a("Noted."))
    second = request(1.1, [S, said, a("Noted."), again], a("Noted."), usage={"prompt_tokens": 90})
    found = read_history(wire([TEXTS[0], TEXTS[0]], first, second))
    assert found[1].text == "turn 2: all 2 messages kept; 1 rewritten; 90 tokens"


def test_requests_of_a_memory_are_apart() -> None:
    """A request without tools, or with another system prompt, is neither a turn's first request nor its history."""
    memory = {**S, "content": "Extract memories."}
    calls = [
        request(2.1, [memory, u(TEXTS[2])], a("none"), tools=[], usage={"prompt_tokens": 10}),
        request(2.2, [S, *WHOLE, u(TEXTS[2])], a("On Monday."), usage={"prompt_tokens": 90}),
        request(2.3, [memory, u("On Monday.")], a("none"), usage={"prompt_tokens": 10}),
    ]
    found = read_history(wire(TEXTS, *FIRST, *calls))
    assert found[2].text == "turn 3: all 6 messages kept; 2 extra requests; 110 tokens"
    assert found[2].as_json()["requests"] == 3


def test_a_failed_request_has_no_answer_and_a_turn_may_have_no_request() -> None:
    broken = request(1.1, [S, *WHOLE[:2], u(TEXTS[1])], a("never said"), status=500, cause="endpoint")
    later = request(3.1, [S, *WHOLE[:3], u("Hello?")], a("Yes."))
    found = read_history(wire([*TEXTS[:2], "…", "Hello?"], FIRST[0], broken, later))
    assert [turn.messages for turn in found] == [0, 2, None, 3]
    assert found[2].text == "turn 3: no request; 0 tokens"
    assert found[3].is_kept
    assert read_history(wire([], FIRST[0])) == ()


def test_stored_responses_are_followed() -> None:
    """With ``previous_response_id``, the items before are the endpoint's; its instructions are not."""

    def respond(at: float, number: int, **fields: Any) -> ModelCall:
        said = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": f"Answer {number}."}],
        }
        reply = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [said]}
        return recorded(at, json.dumps({"model": "m", **fields}), json.dumps(reply), dialect="responses")

    first = respond(0.1, 1, input=TEXTS[0], instructions="Be brief.")
    second = {"input": TEXTS[1], "previous_response_id": "resp_1"}
    found = read_history(wire(TEXTS[:2], first, respond(1.1, 2, **second, instructions="Be brief.")))
    assert (found[1].messages, found[1].is_kept) == (2, True)
    assert read_history(wire(TEXTS[:2], first, respond(1.1, 2, **second)))[1].prompt == "lost"
    found = read_history(wire(TEXTS[:2], first, respond(1.1, 2, input=TEXTS[1], instructions="Be brief.")))
    assert (found[1].dropped, found[1].first_dropped) == (2, "user: My order is 4711.")


def test_blocks_of_messages_are_read() -> None:
    def send(at: float, *messages: Any) -> ModelCall:
        reply = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Noted."}]}
        body = {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": messages}
        return recorded(at, json.dumps(body), json.dumps({**reply, "stop_reason": "end_turn"}), dialect="messages")

    said = [u(TEXTS[0]), {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}]
    found = read_history(wire(TEXTS[:2], send(0.1, said[0]), send(1.1, *said, u(TEXTS[1]))))
    assert (found[1].messages, found[1].is_kept) == (2, True)


def test_a_prompt_with_the_time_begins_no_other_conversation() -> None:
    def at(time: str, moment: float, messages: Any, answer: Any) -> ModelCall:
        prompt = {"role": "system", "content": f"You are the desk of a shop, and it is {time} now. Be brief."}
        return request(moment, [prompt, *messages], answer)

    whole = [u(TEXTS[0]), a("Hello."), u(TEXTS[1]), a("Noted.")]
    calls = (at("9:00", 0.1, whole[:1], whole[1]), at("9:01", 1.1, whole[:3], whole[3]))
    found = read_history(wire(TEXTS, *calls, at("9:02", 2.1, [*whole[2:], u(TEXTS[2])], a("Done."))))
    assert (found[1].is_kept, found[2].dropped, found[2].prompt, found[2].extra) == (True, 2, "changed", 0)


def test_one_of_equal_messages_is_dropped_and_nothing_is_moved() -> None:
    before = [u(TEXTS[0]), a("Yes."), u(TEXTS[1]), a("Yes."), u(TEXTS[0]), a("Yes.")]
    for place in range(6):
        kept = [one for at, one in enumerate(before) if at != place]
        calls = (request(0.1, before[:1], a("Yes.")), request(1.1, before[:5], a("Yes.")))
        found = read_history(wire([TEXTS[0], TEXTS[1], "Last."], *calls, request(2.1, [*kept, u("Last.")], a("Done."))))
        assert (found[2].dropped, found[2].reordered) == (1, 0), place


def test_a_number_is_not_found_within_a_longer_one() -> None:
    said = [u("7"), a("Noted.")]
    calls = (request(0.1, said[:1], said[1]), request(1.1, [u("17 characters"), said[1], u("Go on.")], a("Done.")))
    assert read_history(wire(["7", "Go on."], *calls))[1].dropped == 1


def test_a_value_is_forgotten_if_only_earlier_turns_have_it() -> None:
    lost = request(2.1, [S, *WHOLE[3:], u(TEXTS[2])], a("Which order?"))
    assert find_forgotten(wire(TEXTS, *FIRST, lost), 3, [True, "never said", 4711]) is None
    short = request(2.1, [S, WHOLE[5], u(TEXTS[2])], a("Which order?"))
    reason, requests = find_forgotten(wire(TEXTS, *FIRST, short), 3, [4711]) or ("", ())
    assert reason == (
        "the fact was no longer in the request: '4711' is in request 3 (user: My order is 4711.), and in none of turn 3"
    )
    assert requests == (3, 4)
    in_a_tool = [{"type": "function", "function": {"name": "find_order", "description": "Such as 4711."}}]
    named = request(2.1, [S, u(TEXTS[2])], a("Which order?"), tools=in_a_tool)
    assert find_forgotten(wire(TEXTS, *FIRST, named), 3, [4711]) is not None
    unreadable = recorded(2.2, "{", "{}")
    assert find_forgotten(wire(TEXTS, *FIRST, short, unreadable), 3, [4711]) is None


@pytest.mark.parametrize(
    ("shown", "is_lost"),
    [
        ("In 14711.", True),
        ("In 1970.", True),
        ("Not 4711.", False),
        ("It has 4,711.", False),
        (r"[{\"text\": \"First:\n4711\"}]", False),
        (r"\u0034\u0037\u0031\u0031", False),
    ],
)
def test_a_value_is_in_a_request_as_a_whole_only(shown: str, is_lost: bool) -> None:
    short = request(2.1, [S, u(shown)], a("Which order?"))
    assert (find_forgotten(wire(TEXTS, *FIRST, short), 3, [4711]) is not None) == is_lost


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([u("Yes."), a("Noted."), u("Yes.")], "2 of 4 messages dropped (first: user: Yes.)"),
        ([u("Yes."), a("Noted."), u("Yes."), u("Yes.")], "1 of 4 messages dropped (first: assistant: Noted.)"),
    ],
)
def test_equal_messages_are_dropped_and_neither_rewritten_nor_moved(messages: list[Any], says: str) -> None:
    said = [u("Yes."), a("Noted."), u("Yes.")]
    calls = [request(0.1, [S, *said[:1]], said[1]), request(1.1, [S, *said], a("Noted."))]
    now = request(2.1, [S, *messages], a("Noted."), usage={"prompt_tokens": 90})
    assert read_history(wire(["Yes."] * 3, *calls, now))[2].text == f"turn 3: {says}; 90 tokens"


def test_a_policy_that_no_request_has_is_named() -> None:
    found = read_history(wire(TEXTS, *FIRST), "Be kind.")
    assert [turn.is_kept for turn in found[:2]] == [False, False]
    assert found[1].text.startswith("turn 2: the task's policy was not sent; all 2 messages kept; ")
    assert all(turn.is_kept for turn in read_history(wire(TEXTS, *FIRST), "You are \n a clerk."))


def test_long_texts_end_the_comparison() -> None:
    many = [u(f"{number} {'x' * 20_000}") for number in range(200)]
    changed = [u(f"{number} {'y' * 20_000}") for number in range(200)]
    calls = [request(0.1, [u("a"), *many], a("b")), request(1.1, [*changed, u("c")], a("d"))]
    found = read_history(wire(["a", "c"], *calls))
    assert (found[1].messages, found[1].text.split("; ")[0]) == (None, "turn 2: not compared")
