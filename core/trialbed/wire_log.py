"""Sum up time, tokens and requests of a wire log."""

from __future__ import annotations

from collections import Counter

from trialbed.records import ModelCall, Timing, Usage, WireLog
from trialbed.wire.estimates import BYTES_PER_TOKEN, Span, covered

AT_LIMIT = "ended at the limit of requests (max_steps)"


def limit_text(wire: WireLog, turn: int = 0) -> str:
    """Say which turns of a conversation ended while the model still asked for calls; empty if none did.

    Args:
        turn: the only turn that counts, from 1; 0 for any.
    """
    ended = [str(number) for number, one in enumerate(wire.turns, 1) if one.at_limit and turn in (0, number)]
    return f"turn{'s' * (len(ended) > 1)} {', '.join(ended)} {AT_LIMIT}" if ended else ""


def compute_timing(wall: float, wire: WireLog) -> Timing:
    """Split a trial's wall time (seconds) into model, tools, waiting and framework.

    Calls that overlap count once. Time waiting for both a model and a tool counts as model. Time counts as waiting only
    if spent on nothing but the repetition of failed requests, a recorded answer or the user. No part is negative and
    the parts add up to ``wall``, even if the server saw calls go on after the agent had ended.
    """
    # The time of a recorded answer is not the model's, and no framework's either.
    replayed = [(call.started, call.started + call.duration) for call in wire.model_calls if call.recorded is not None]
    answered = [call for call in wire.model_calls if call.recorded is None]
    asked = [(call.started + call.waited, call.started + call.duration) for call in answered]
    measured = [call for call in wire.api_calls if call.source == "server"]
    called = [(call.started, call.started + call.duration) for call in measured]
    repeated = [(call.started, call.started + call.waited) for call in wire.model_calls if call.waited]
    repeated += [(turn.started - turn.waited, turn.started) for turn in wire.turns]
    left, parts, spans, before = wall, [], list[Span](), 0.0
    for more in (asked, called, repeated + replayed):
        spans += more
        seconds = covered(spans)
        parts.append(max(0.0, min(seconds - before, left)))
        left -= parts[-1]
        before = seconds
    model, tool, waiting = parts
    return Timing(wall=wall, model=model, tool=tool, waiting=waiting, framework=max(0.0, left))


def failed(call: ModelCall) -> bool:
    """Return whether the model did not answer, because it refused, could not be asked or broke off."""
    return call.cause is not None or call.status == 0 or call.status >= 400


def observed_usage(wire: WireLog) -> Usage | None:
    """Return the tokens over all model calls and requests for vectors, reported or estimated if the agent broke off.

    None if no call came through the gateway, or if the model answered one without reporting its tokens. A refused call
    (status 400 and up) consumed none.
    """
    if not wire.model_calls:
        return None
    total = Usage(prompt_tokens=sum(call.tokens or 0 for call in wire.embedding_calls))
    for call in wire.model_calls:
        usage = estimated_usage(call) if call.cause == "gone" else call.usage
        if usage is not None:
            total = total + usage
        elif call.status < 400 and (call.status or call.cause is None):
            return None
    return total


def estimated_usage(call: ModelCall) -> Usage | None:
    """Return the tokens of a request, estimated if the model did not report them; None if it did not answer.

    A request that the agent broke off counts like its answer so far.

    A stream has an event for each token; other texts have a token for about four bytes.
    """
    if call.usage is not None or call.cause not in (None, "gone"):
        return call.usage
    written = call.response.count("data:") if call.stream else call.response_bytes // BYTES_PER_TOKEN
    return Usage(prompt_tokens=call.request_bytes // BYTES_PER_TOKEN, completion_tokens=written)


def repeated_requests(wire: WireLog) -> int:
    """Count model calls with a body that was sent before, byte for byte, by retries of the framework or its client."""
    return len(wire.model_calls) - len({call.request for call in wire.model_calls})


def finish_reasons(wire: WireLog) -> Counter[str]:
    """Count the finish reasons of the model's answers."""
    return Counter(call.finish_reason for call in wire.model_calls if call.finish_reason is not None)


def refusals(wire: WireLog) -> Counter[str]:
    """Count requests that were refused for a limit of the trial, by limit."""
    return Counter(call.limit or "max_steps" for call in wire.model_calls if call.cause == "limit")
