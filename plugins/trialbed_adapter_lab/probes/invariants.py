"""Invariants: what holds of every request of every trial, also of long ones, whatever the trial is about."""

from __future__ import annotations

from functools import partial

from trialbed_adapter_lab.harness import (
    Harness,
    Invariant,
    adds_its_turns,
    answers_calls,
    answers_with_the_last_text,
    asks_nothing_else,
    claims_its_calls,
    claims_its_responses,
    claims_its_turns,
    claims_its_usage,
    keeps_prompt,
    keeps_settings,
    keeps_tools,
    makes_the_calls_asked_for,
    only_grows,
    passes_results_on,
)
from trialbed_adapter_lab.probe import Probe, expect
from trialbed_adapter_lab.probes._conversations import asks_echo, converse_on_everything

TURNS = 20
"""More than frameworks keep in mind that shorten conversations."""


async def _holds(invariant: Invariant, harness: Harness) -> None:
    if harness.oracle.longest < TURNS:
        turns = [asks_echo(str(number)) for number in range(TURNS)]
        await converse_on_everything(harness)
        await harness.run(*turns, "done", max_steps=TURNS + 2)
    breaches = harness.oracle.breaches(invariant)
    more = f" (and {len(breaches) - 1} more)" if len(breaches) > 1 else ""
    expect(not breaches, "no breach in any trial", "".join(breaches[:1]) + more)


EVERYWHERE = tuple(
    Probe(
        name,
        "should",
        f"{holds.__doc__} This holds in every trial of the checks before.",
        reason,
        hint,
        partial(_holds, holds),
    )
    for name, holds, reason, hint in (
        (
            "prompt_and_query_stay",
            keeps_prompt,
            "A model follows what it is sent, and has forgotten what is no longer sent.",
            "Look for a memory that keeps the last messages only, or that summarises the first ones.",
        ),
        (
            "tools_stay",
            keeps_tools,
            "A tool that is no longer offered cannot be called.",
            "Look for steps in which the framework wants a text, such as the last one, and for a choice of tools.",
        ),
        (
            "settings_stay",
            keeps_settings,
            "A request with other settings is another experiment.",
            "Look for retries and later steps that make a request of their own.",
        ),
        (
            "conversation_only_grows",
            only_grows,
            "A conversation that is rewritten or shortened is one that the model did not have.",
            "Look for memories, summaries and limits on the length of conversations and results.",
        ),
        (
            "turns_are_added_as_they_were",
            adds_its_turns,
            "A model continues from its own words, and from every result that it asked for.",
            "Send the model's own message back, and one tool message for each of its calls, and nothing else.",
        ),
        (
            "results_go_back_whole",
            passes_results_on,
            "The model works with the results of its calls.",
            "Look for limits on the length of results, for cleaning of texts, and for calls that are not waited for.",
        ),
        (
            "calls_are_the_models",
            makes_the_calls_asked_for,
            "Scores compare the calls that reached the Apis with those that were right.",
            "Look for retries of tools, for cleaning of arguments, and for repair of them.",
        ),
        (
            "answers_are_the_last_text",
            answers_with_the_last_text,
            "Judges read the final answer; words of earlier turns, or a cleaned text, may be judged differently.",
            "Return the content of the last message alone, as it is.",
        ),
        (
            "results_follow_their_calls",
            answers_calls,
            "Endpoints refuse a result whose call they do not see.",
            "Drop no message of the model's that has calls.",
        ),
        (
            "nothing_else_is_asked",
            asks_nothing_else,
            "Other requests are not measured, and endpoints may not serve them.",
            "Switch look-ups of models, health checks and the like off.",
        ),
        (
            "claims_are_right_everywhere",
            claims_its_calls,
            "The difference between claims and the wire is a score of the framework.",
            "Read the calls from the framework's own messages or events, all of them.",
        ),
        (
            "responses_are_claimed_whole",
            claims_its_responses,
            "Results and answers are read together.",
            "Read responses from the framework's messages, not from its logs or events, which may shorten them.",
        ),
        (
            "turns_are_right_everywhere",
            claims_its_turns,
            "A wrong number of turns hides requests that the framework made on its own.",
            "Count the model's messages, not calls or steps.",
        ),
        (
            "usage_is_right_everywhere",
            claims_its_usage,
            "A wrong number of tokens is worse than none.",
            "Count each turn once, and return None where a turn reports nothing.",
        ),
    )
)
"""The checks that look at the trials of those before them."""
