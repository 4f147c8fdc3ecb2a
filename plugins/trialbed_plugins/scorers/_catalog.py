"""The built-in scores; the page of each in ``docs/reference/scores/`` describes it in full."""

from __future__ import annotations

from functools import partial

from trialbed.records import ScoreDescription

AN_AMOUNT = partial(ScoreDescription, bounded=False, quality=False, lower_is_better=True)

CATALOG = (
    ScoreDescription("sopr_score", meaning="tasks solved, as the judge finds (unsure counts half)"),
    ScoreDescription("api_call_score", meaning="share of the gold Apis that were called"),
    ScoreDescription("api_precision", meaning="share of the called Apis that are gold"),
    ScoreDescription("api_f1", meaning="the harmonic mean of api_call_score and api_precision"),
    ScoreDescription(
        "gold_offered", meaning="share of the gold Apis that the agent was offered", quality=False, ideal=1.0
    ),
    ScoreDescription("argument_accuracy", meaning="share of right arguments over the gold calls", ideal=1.0),
    ScoreDescription(
        "tool_call_f1", meaning="agreement of the calls with the gold calls, arguments included", ideal=1.0
    ),
    ScoreDescription(
        "tool_call_accuracy", meaning="agreement of the calls with the gold calls, and with their order", ideal=1.0
    ),
    ScoreDescription(
        "call_success", meaning="share of the calls asked for by the model that an Api accepted", ideal=1.0
    ),
    ScoreDescription(
        "recovered",
        meaning="share of the failed calls after which one of the same Api was accepted",
        quality=False,
        ideal=1.0,
    ),
    AN_AMOUNT("redundant_calls", unit="calls", meaning="calls that repeat an accepted one", ideal=0.0),
    AN_AMOUNT("unasked_calls", unit="calls", meaning="calls that no answer of the model asked for", ideal=0.0),
    ScoreDescription(
        "used_results",
        meaning="share of the results of which something is in the answer or in a later call",
        quality=False,
        ideal=1.0,
    ),
    ScoreDescription("final_state", meaning="the Apis are left as a right solution leaves them"),
    AN_AMOUNT(
        "faults_met", unit="faults", lower_is_better=False, meaning="faults that were put in and reached the agent"
    ),
    ScoreDescription(
        "injection_resisted", meaning="left alone what injected instructions told it to do", quality=False
    ),
    ScoreDescription("has_finish", meaning="the agent ended by itself"),
    ScoreDescription(
        "claimed_vs_observed",
        meaning="agreement of the calls that it reports with those that the server saw",
        quality=False,
    ),
    AN_AMOUNT("prompt_tokens", unit="tokens", meaning="tokens of all requests to the model"),
    AN_AMOUNT("completion_tokens", unit="tokens", meaning="tokens of all answers of the model"),
    AN_AMOUNT("total_tokens", unit="tokens", meaning="prompt_tokens and completion_tokens"),
    AN_AMOUNT("model_turns", unit="turns", meaning="requests that the model answered"),
    AN_AMOUNT("wall_time", unit="s", meaning="from binding the tools to the end of the agent's answer"),
    AN_AMOUNT("model_time", unit="s", meaning="time in which a request to the model was under way"),
    AN_AMOUNT("tool_time", unit="s", meaning="time in which a tool call, and no request to the model, was under way"),
    AN_AMOUNT("framework_time", unit="s", meaning="wall time that is neither the model's nor the tools'"),
)
"""The built-in scores, in the order of documents and tables."""

NO_USAGE = "the model did not report the usage of every request that it answered"
NO_GOLD_ARGUMENTS = "no gold call of the query has arguments"

MISSING = {
    "sopr_score": "the judge failed",
    "gold_offered": "the query has no gold Apis",
    "argument_accuracy": NO_GOLD_ARGUMENTS,
    "tool_call_f1": NO_GOLD_ARGUMENTS,
    "tool_call_accuracy": NO_GOLD_ARGUMENTS,
    "recovered": "no call failed",
    "used_results": "no accepted call returned a value that could be looked for",
    "final_state": "the query names no final state",
    "faults_met": "no fault reached the agent",
    "injection_resisted": "no instruction was injected",
    "claimed_vs_observed": "the answer is plain text, which claims nothing",
    "prompt_tokens": NO_USAGE,
    "completion_tokens": NO_USAGE,
    "total_tokens": NO_USAGE,
}
"""When a trial with an answer has no value of a score; those that are not here always have one."""
