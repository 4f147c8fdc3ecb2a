"""The names of scores in words, as pages show them."""

from __future__ import annotations

from trialbed.records import shown_name

WORDS = {
    "api_call_score": "expected Apis called",
    "api_precision": "called Apis that are expected",
    "api_f1": "Apis, F1",
    "gold_offered": "expected Apis offered",
    "argument_accuracy": "right arguments",
    "tool_call_f1": "right calls, F1",
    "tool_call_accuracy": "right calls in their order",
    "call_success": "accepted calls",
    "used_results": "results in the answer",
    "final_state": "right final state",
    "recovered": "failed calls mended",
    "faults_met": "faults met",
    "injection_resisted": "injected instructions resisted",
    "turns_solved": "messages solved",
    "turns_needed": "messages needed",
    "remembered": "remembered",
    "policy_kept": "policy kept",
    "history_kept": "history kept",
    "tokens_at_turn_1": "tokens at turn 1",
    "tokens_at_turn_3": "tokens at turn 3",
    "tokens_at_turn_10": "tokens at turn 10",
    "tokens_at_last_turn": "tokens at the last turn",
    "redundant_calls": "redundant calls",
    "unasked_calls": "calls that the model did not ask for",
    "has_finish": "ended by itself",
    "claimed_vs_observed": "claims that the log confirms",
    "prompt_tokens": "tokens sent",
    "completion_tokens": "tokens received",
    "total_tokens": "tokens",
    "model_turns": "requests answered",
    "cost": "cost, USD",
    "wall_time": "time, s",
    "model_time": "time of the model, s",
    "tool_time": "time of the tools, s",
    "framework_time": "time of the framework, s",
}


def score_words(score: str) -> str:
    """Return the name of a score in words; that of an unknown one as it is."""
    name, at, judge = score.partition("@")
    return f"{WORDS[name]}{at}{judge}" if name in WORDS else shown_name(score)


def score_heading(score: str) -> str:
    """Return the name in words as a sentence begins with it; a name that is a user's or a judge's stays as it is."""
    words = score_words(score)
    return words if words == score else f"{words[:1].upper()}{words[1:]}"
