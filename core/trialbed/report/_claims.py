"""The claims of agents beside what the server saw, over all trials of a framework, and what all trials used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialbed.records import TrialResult, Usage
from trialbed.wire_log import failed, observed_usage

CALLS = ("invented", "unreported", "unasked")


def claims(answered: Sequence[TrialResult]) -> dict[str, Any]:
    """Calls, tokens and turns as agents claim them, against those observed, over the trials with an answer.

    Tokens and turns are over the trials for which both are known; ``differ`` is in how many of them they do.
    """
    details = [score.detail for result in answered if (score := result.score("claimed_vs_observed"))]
    return {
        **{kind: sum(len(detail.get(kind, ())) for detail in details) for kind in CALLS},
        "tokens": _compared([_tokens(result) for result in answered]),
        "turns": _compared([_turns(result) for result in answered]),
    }


def totals(results: Sequence[TrialResult]) -> dict[str, int]:
    """Tokens and model requests over all trials and attempts, failed ones and those that were not measured too.

    Tokens are those that the model reported; ``unreported_requests`` counts the answers without a report.
    """
    calls = [call for result in results for call in result.wire.model_calls]
    used = sum((call.usage for call in calls if call.usage is not None), Usage())
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.total_tokens,
        "model_requests": len(calls),
        "unreported_requests": sum(1 for call in calls if call.usage is None and not failed(call)),
    }


def _tokens(result: TrialResult) -> tuple[int, int] | None:
    claimed = result.outcome.answer.usage if result.outcome.answer else None
    observed = observed_usage(result.wire)
    return None if claimed is None or observed is None else (claimed.total_tokens, observed.total_tokens)


def _turns(result: TrialResult) -> tuple[int, int] | None:
    claimed = result.outcome.answer.model_turns if result.outcome.answer else None
    if claimed is None or not result.wire.model_calls:
        return None
    return claimed, sum(1 for call in result.wire.model_calls if not failed(call))


def _compared(pairs: Sequence[tuple[int, int] | None]) -> dict[str, int]:
    known = [pair for pair in pairs if pair is not None]
    return {
        "claimed": sum(claimed for claimed, _ in known),
        "observed": sum(observed for _, observed in known),
        "trials": len(known),
        "differ": sum(1 for claimed, observed in known if claimed != observed),
    }
