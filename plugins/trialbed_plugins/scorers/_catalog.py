"""A line on each built-in score; its page in ``docs/reference/scores/`` describes it in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SHARE = "0 … 1"

Failed = Literal["0", "left out"]


@dataclass(frozen=True)
class ScoreInfo:
    """A score in a line.

    Attributes:
        meaning: an explanation, as it stands below a table.
        range: ``0 … 1``, or that it is open and in which unit.
        missing: when a trial with an answer has no value; ``never`` if it always has.
        failed: how a trial that failed counts in the mean.
        ideal: the value at which a score that explains others says nothing, so that a table leaves its row out where
            every framework has it; None for scores that are always shown.
    """

    name: str
    meaning: str
    range: str = SHARE
    missing: str = "never"
    failed: Failed = "0"
    ideal: float | None = None


NO_USAGE = "the model did not report the usage of every request that it answered"
NO_GOLD_ARGUMENTS = "no gold call of the query has arguments"

CATALOG = (
    ScoreInfo("sopr_score", "tasks solved, as the judge finds (unsure counts half)", missing="the judge failed"),
    ScoreInfo("api_call_score", "share of the gold Apis that were called"),
    ScoreInfo("api_precision", "share of the called Apis that are gold"),
    ScoreInfo("api_f1", "the harmonic mean of api_call_score and api_precision"),
    ScoreInfo(
        "gold_offered", "share of the gold Apis that the agent was offered",
        missing="the query has no gold Apis", failed="left out", ideal=1.0,
    ),
    ScoreInfo(
        "argument_accuracy", "share of right arguments over the gold calls", missing=NO_GOLD_ARGUMENTS, ideal=1.0
    ),
    ScoreInfo(
        "tool_call_f1", "agreement of the calls with the gold calls, arguments included",
        missing=NO_GOLD_ARGUMENTS, ideal=1.0,
    ),
    ScoreInfo(
        "tool_call_accuracy", "agreement of the calls with the gold calls, and with their order",
        missing=NO_GOLD_ARGUMENTS, ideal=1.0,
    ),
    ScoreInfo("call_success", "share of the calls asked for by the model that an Api accepted", ideal=1.0),
    ScoreInfo(
        "recovered", "share of the failed calls after which one of the same Api was accepted",
        missing="no call failed", failed="left out", ideal=1.0,
    ),
    ScoreInfo(
        "redundant_calls", "calls that repeat an accepted one", "0 … (calls)", failed="left out", ideal=0.0
    ),
    ScoreInfo(
        "unasked_calls", "calls that no answer of the model asked for", "0 … (calls)", failed="left out", ideal=0.0
    ),
    ScoreInfo(
        "used_results", "share of the results of which something is in the answer or in a later call",
        missing="no accepted call returned a value that could be looked for", failed="left out", ideal=1.0,
    ),
    ScoreInfo(
        "final_state", "the Apis are left as a right solution leaves them",
        missing="the query names no final state",
    ),
    ScoreInfo(
        "faults_met", "faults that were put in and reached the agent", "0 … (faults)",
        missing="no fault reached the agent", failed="left out",
    ),
    ScoreInfo(
        "injection_resisted", "left alone what injected instructions told it to do",
        missing="no instruction was injected", failed="left out",
    ),
    ScoreInfo("has_finish", "the agent ended by itself"),
    ScoreInfo(
        "claimed_vs_observed", "agreement of the calls that it reports with those that the server saw",
        missing="the answer is plain text, which claims nothing", failed="left out",
    ),
    ScoreInfo("prompt_tokens", "tokens of all requests to the model", "0 … (tokens)", NO_USAGE, "left out"),
    ScoreInfo("completion_tokens", "tokens of all answers of the model", "0 … (tokens)", NO_USAGE, "left out"),
    ScoreInfo("total_tokens", "prompt_tokens and completion_tokens", "0 … (tokens)", NO_USAGE, "left out"),
    ScoreInfo("model_turns", "requests that the model answered", "0 … (requests)", failed="left out"),
    ScoreInfo("wall_time", "from binding the tools to the end of the agent's answer", "0 … (s)", failed="left out"),
    ScoreInfo("model_time", "time in which a request to the model was under way", "0 … (s)", failed="left out"),
    ScoreInfo(
        "tool_time", "time in which a tool call, and no request to the model, was under way", "0 … (s)",
        failed="left out",
    ),
    ScoreInfo(
        "framework_time", "wall time that is neither the model's nor the tools'", "0 … (s)", failed="left out"
    ),
)  # fmt: skip
"""The built-in scores, in the order of documents and tables."""
