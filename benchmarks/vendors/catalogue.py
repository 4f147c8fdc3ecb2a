"""The simulated vendors, with good ones, and vendors that damage answers or bills."""

from __future__ import annotations

import json

from vendors.answers import Case, Random, Row, calls_of, message_of
from vendors.faults import (
    GERMAN,
    SHORT,
    Fault,
    Vendors,
    both,
    changed,
    counts,
    ended_with,
    failed,
    first_only,
    in_calls,
    in_text,
    invalid,
    late,
    mangled,
    more,
    named,
    not_json,
    off_by_one,
    one_more,
    refused,
    renamed,
    repeated,
    rounded,
    said_instead,
    set_argument,
    sometimes,
    stops_at,
    times,
    twice,
    varies_anyway,
    where,
    without,
    wrong_tool,
)


def faithful(case: Case, one: Row, random: Random) -> bool:
    """Change nothing."""
    return False


def respaced(case: Case, call: Row, random: Random) -> bool:
    """Write arguments with other spaces and in another order."""
    given = json.loads(call["function"]["arguments"])
    call["function"]["arguments"] = json.dumps(dict(reversed(given.items())), separators=(",", ":"), ensure_ascii=False)
    return False


def empty_content(case: Case, one: Row, random: Random) -> bool:
    """Send empty text together with calls."""
    if calls_of(one):
        message_of(one)["content"] = ""
    return False


def other_ids(case: Case, one: Row, random: Random) -> bool:
    """Name calls as some servers do."""
    for place, call in enumerate(calls_of(one)):
        call["id"] = f"functions.{call['function']['name']}:{place}"
    return False


def stop_after_forced(case: Case, one: Row, random: Random) -> bool:
    """End forced calls with ``stop``."""
    if isinstance(case.parameters.get("tool_choice"), dict):
        one["response"]["choices"][0]["finish_reason"] = "stop"
    return False


GOOD: Vendors = {
    "the same model": faithful,
    "arguments in other spaces and order": in_calls(respaced),
    "other ids of calls": other_ids,
    "empty text beside calls": empty_content,
    "the publisher before the model's name": named("moonshotai/kimi-k2"),
    "a date after the model's name": named("kimi-k2-0905"),
    "one prompt token more": counts(more(1)),
    "`stop` after a forced call": stop_after_forced,
}
"""Correct vendors of the same model."""


def cases_of(share: float) -> Fault:
    """Call the wrong tool in a share of the cases, always."""
    return where(lambda case: case.number * 7919 % 1000 < 1000 * share, in_calls(wrong_tool))


def is_long(case: Case) -> bool:
    """Return whether a prompt is among the longest sixth."""
    return case.prompt > 1450


wrong_value = set_argument("days", off_by_one)
cut = in_text(lambda text: text[: len(text) // 2])
sure = in_text(lambda text: f"Sure! {text}", breaks=False)
required = invalid(without("days"))
leaked = in_text(lambda text: f"{text}<|im_end|>")

REPORTED: Vendors = {
    "drops a required argument, 10 %": sometimes(0.1, required),
    "ignores `tool_choice`": where(lambda case: case.forced, sometimes(0.7, said_instead)),
    "serialises parallel calls": first_only,
    "degrades when streaming, 20 %": sometimes(0.2, wrong_value),
    "mangles letters beyond ASCII": set_argument("city", mangled),
    "rounds integers of 64 bits": set_argument("account", rounded),
    "texts for integers, 5 %": sometimes(0.05, invalid(set_argument("days", lambda given: str(given["days"])))),
    "usage + 10 %": counts(times(1.1), times(1.1)),
    "usage + 3 %": counts(times(1.03), times(1.03)),
    "prompt tokens + 3 %": counts(times(1.03)),
    "a billed system prompt": counts(more(60)),
    "texts cut at 150 letters": in_text(lambda text: text[:SHORT]),
    "20 % terser": in_text(lambda text: f"{text[: len(text) * 4 // 5]}."),
    "names another model": named("qwen3"),
    "wrong in 5 % of the answers": sometimes(0.1, in_calls(wrong_tool)),
    "wrong in 5 % of the cases, always": cases_of(0.1),
    "5 % from another model": sometimes(
        0.05, both(wrong_value, in_text(lambda text: "As an assistant, I can say that it depends."))
    ),
    "quantised: wrong values in long contexts": where(is_long, sometimes(0.3, wrong_value)),
    "the list of tools cut after 16": where(lambda case: case.tool > 15, in_calls(wrong_tool)),
    "ignores `stop`": stops_at,
    "a hidden system prompt: Sure! in 30 % of the texts": sometimes(0.3, sure),
    "refuses 3 %": sometimes(0.03, refused),
    "drops optional arguments, 10 %": sometimes(0.1, without("unit")),
    "cuts arguments, 2 %": sometimes(0.02, invalid(in_calls(not_json))),
    "sends calls twice, 5 %": sometimes(0.05, twice),
    "says instead of calling, 5 %": sometimes(0.05, said_instead),
    "a stack of small faults (7.4 %)": both(
        sometimes(0.014, said_instead), sometimes(0.026, in_calls(wrong_tool)), sometimes(0.014, wrong_value),
        sometimes(0.01, required), sometimes(0.02, twice), sometimes(0.014, leaked), sometimes(0.035, cut),
    ),
    "a stack of smaller faults (6 %)": both(
        sometimes(0.012, said_instead), sometimes(0.022, in_calls(wrong_tool)), sometimes(0.012, wrong_value),
        sometimes(0.008, required), sometimes(0.018, twice), sometimes(0.012, leaked), sometimes(0.03, cut),
    ),
    "worse from the middle of the run": where(lambda case: case.number > 750, sometimes(0.2, wrong_value)),
    "a cache of whole answers": repeated(ids=True),
    "ignores the temperature: greedy": repeated(ids=False),
    "greedy in half of the cases": where(lambda case: case.number % 2 == 0, repeated(ids=False)),
    "ignores `strict`, 20 %": sometimes(
        0.2, invalid(changed(lambda case, given, random: {**given, "verbose": True}))
    ),
    "ignores temperature 0": varies_anyway("temperature"),
    "ignores `seed`": varies_anyway("seed"),
    "ignores `parallel_tool_calls: false`": one_more,
    "worse above eight in flight, asked at five": faithful,
    "worse above eight in flight, asked at 30": sometimes(0.2, wrong_value),
    "silent retries: 10 % are late": sometimes(0.1, late),
}  # fmt: skip
"""Vendors at fault that users and reviewers have described."""

FURTHER: Vendors = {
    "no second call in 30 %": sometimes(0.3, first_only),
    "numbers off by one, 7 % of the calls": sometimes(0.07, wrong_value),
    "places in capitals, 8 % of the calls": sometimes(0.08, set_argument("city", lambda given: given["city"].upper())),
    "a made-up argument, 7 % of the calls": sometimes(
        0.07, changed(lambda case, given, random: {**given, "verbose": True})
    ),
    "texts cut in half, 8 %": sometimes(0.08, cut),
    "`length` for `stop`, 7 % of the texts": sometimes(0.07, ended_with("length")),
    "empty texts, 7 %": sometimes(0.07, in_text(lambda text: "")),
    "no answer, 3.5 %": sometimes(0.035, failed),
    "thinking in 7 % of the texts": sometimes(0.07, in_text(lambda text: f"<think>hm</think>{text}")),
    "control tokens in 7 % of the texts": sometimes(0.07, leaked),
    "another language in 7 % of the texts": sometimes(0.07, in_text(lambda text: GERMAN)),
    "`functions.` before 7 % of the names": sometimes(0.07, in_calls(renamed)),
    "no JSON in 7 % of the calls": sometimes(0.07, invalid(in_calls(not_json))),
    "calls in 4 % of the cases to the wrong tool, always": cases_of(0.08),
    "nulls for optional arguments, 10 %": sometimes(0.1, set_argument("unit", lambda given: None)),
    "prompt tokens + 2.5 %": counts(times(1.025)),
    "completion tokens + 12 %": counts(lambda count: count, times(1.12)),
    "30 prompt tokens more": counts(more(30)),
    "prompt tokens rounded up to 64": counts(lambda count: -(-count // 64) * 64),
    "cheaper, but 4 % refused": both(sometimes(0.04, refused), counts(times(0.98))),
}
"""Further ones, made for this simulation."""
