"""The measurements that the panel keeps of one answer, in a few bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from trialbed_verify.panel._calls import CallDigest, call_measures, calls_of
from trialbed_verify.panel._logprobs import first_token
from trialbed_verify.panel._signatures import code, signature, words
from trialbed_verify.panel._texts import form, is_cut
from trialbed_verify.rows import Body, answer_in, billed_tokens, object_in, sent_request, text_in, usage_of
from trialbed_verify.vendor_rows import VendorRows

OUTPUT_PRICE = 4.0
"""The price of a completion token in prompt tokens, about what vendors ask."""

MOST_TOKENS = 1 << 40

CALL, NO_CALL = code("call"), code("no call")

SUBJECTS = ("schema", "text", "constraints", "protocol", "usage", "model")
"""Gates of findings, in the order of ``Measures.violations``."""

BITS = {subject: 1 << place for place, subject in enumerate(SUBJECTS)}


@dataclass(frozen=True, slots=True)
class Measures:
    """One answer, as far as gates compare it. Absent values are 0, None or nan.

    Attributes:
        source, place: where its row is.
        answered: whether there is a valid answer; without one, only availability is known.
        decision, tools, order, finish, form: categories.
        arguments, wording: signatures.
        values: the arguments of calls as hashes, for the comparison with the case's other trials.
        free: the signature of the words of their free text.
        length: logarithm of the text's length.
        opening: category of the text's first word.
        cut: whether the text ends in the middle of a sentence.
        made: category of the calls, whatever their order, by their names and arguments but free text.
        ratio: logarithm of the completion tokens per character of the answer.
        prompt: the prompt tokens.
        cost: the tokens billed, in prompt tokens (``OUTPUT_PRICE``).
        schema: whether a call does not fit its schema; None if that is not known.
        asked, disobeyed: parameters that constrain the answer, and those of them that it does not obey.
        violations: the subjects of ``SUBJECTS`` that the answer violates, as bits.
        logprobs: the probabilities of the first token's alternatives.
        suite: name of the suite and the score in it.
        response_id, at: as in the row.
        digest, size: of the whole text of the answer.
        sampled: whether the temperature asked for is not 0.
    """

    source: VendorRows
    place: Any
    answered: bool
    decision: int = 0
    tools: int = 0
    order: int = 0
    finish: int = 0
    form: int = 0
    arguments: bytes | None = None
    wording: bytes | None = None
    values: bytes = b""
    free: bytes | None = None
    length: float = math.nan
    ratio: float = math.nan
    prompt: int = 0
    cost: float = math.nan
    made: int = 0
    cut: bool = False
    opening: int = 0
    asked: frozenset[str] = frozenset()
    disobeyed: frozenset[str] = frozenset()
    schema: bool | None = None
    violations: int = 0
    logprobs: bytes | None = None
    suite: tuple[str, float] | None = None
    response_id: str | None = None
    at: str | None = None
    duration: float = field(default=math.nan)
    digest: bytes = b""
    size: int = 0
    sampled: bool = True


def measure(row: Body, source: VendorRows, place: Any) -> Measures:
    """Measure a row, of this tool or of others."""
    answered = _is_answered(row)
    suite = _suite(row)
    if not answered:
        return Measures(source, place, answered=False, suite=suite)
    response = object_in(row, "response")
    choice, message = answer_in(response)
    calls = calls_of(message, sent_request(row))
    text = message.get("content") if isinstance(message.get("content"), str) else ""
    text = text or ""
    thought = message.get("reasoning_content")
    whole = f"{text}\n{thought if isinstance(thought, str) else ''}\n{_raw_calls(message)}"
    usage = usage_of(response)
    violations, disobeyed = _violations(row, text)
    return Measures(
        source=source,
        place=place,
        answered=True,
        decision=CALL if calls or (not choice and row.get("finish_reason") == "tool_calls") else NO_CALL,
        finish=code(_finish(row, calls)),
        **(call_measures(calls) if calls else _of_text(text)),
        ratio=_log_ratio(usage.get("completion_tokens"), len(whole) - 2),
        prompt=_count(usage.get("prompt_tokens")),
        cost=_number(usage.get("prompt_tokens")) + OUTPUT_PRICE * _number(billed_tokens(usage)),
        schema=_schema(row, calls, violations),
        violations=violations,
        asked=_asked(row),
        disobeyed=disobeyed,
        logprobs=first_token(choice),
        suite=suite,
        response_id=text_in(response, "id"),
        at=_moment(row),
        duration=_number(row.get("duration_ms")),
        digest=blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).digest(),
        size=len(whole) - 2,
        sampled=_is_sampled(row),
    )


def _is_answered(row: Body) -> bool:
    outcome = row.get("outcome")
    if isinstance(outcome, str):
        return outcome in ("tool_calls", "stop", "other")
    return row.get("status") == "success" and row.get("finish_reason") is not None


def _of_text(text: str) -> dict[str, Any]:
    return {
        "form": code(form(text)),
        "length": math.log1p(len(text)),
        "wording": signature(said := words(text)),
        "opening": code(said[0] if said else ""),
        "cut": is_cut(text),
    }


def _finish(row: Body, calls: list[CallDigest]) -> str:
    """Return the finish reason; a call that was forced may end with ``stop``, as OpenAI's own endpoint ends it."""
    reason = str(row.get("finish_reason"))
    choice = sent_request(row).get("tool_choice")
    return "tool_calls" if calls and reason == "stop" and isinstance(choice, dict) else reason


def _schema(row: Body, calls: list[CallDigest], violations: int) -> bool | None:
    """Return whether calls do not fit; None without calls, or where they cannot be checked."""
    if not calls and row.get("finish_reason") != "tool_calls":
        return None
    listed = row.get("calls")
    verdicts = [call.get("valid") for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    valid = row.get("tool_calls_valid")
    wrong = (
        valid is False
        or any(verdict is False for verdict in verdicts)
        or bool(violations & BITS["schema"])
        or not calls
    )
    if wrong:
        return True
    return False if valid is True or True in verdicts else None


def _violations(row: Body, text: str) -> tuple[int, frozenset[str]]:
    """Return the subjects that an answer violates, as bits, and the parameters that it does not obey."""
    from trialbed_verify.findings import PARAMETERS, findings, has_leaks

    bits = BITS["text"] if has_leaks(text) else 0
    kinds = set()
    for found in findings(row):
        if found.severity == "violation":
            bits |= BITS[found.gate]
            kinds.add(found.kind)
    return bits, frozenset(name for name, own in PARAMETERS.items() if not kinds.isdisjoint(own))


def _asked(row: Body) -> frozenset[str]:
    from trialbed_verify.findings import constrained_parameters

    return frozenset(constrained_parameters(sent_request(row)))


def _suite(row: Body) -> tuple[str, float] | None:
    about = row.get("suite")
    if not isinstance(about, Mapping) or not isinstance(about.get("name"), str):
        return None
    from trialbed_verify.suites import score

    found = score(row)
    return None if found is None else (about["name"], float(found))


def _is_sampled(row: Body) -> bool:
    return sent_request(row).get("temperature") != 0


def _moment(row: Body) -> str | None:
    """Return the time of completion, if it is known to fractions of a second."""
    at = text_in(row, "last_run_at")
    return at if at is not None and "." in at else None


def _raw_calls(message: Body) -> str:
    found = message.get("tool_calls")
    listed = found if isinstance(found, list) else []
    functions = [call.get("function") for call in listed if isinstance(call, dict)]
    return "".join(
        f"{function.get('name')}{function.get('arguments')}" for function in functions if isinstance(function, dict)
    )


def _log_ratio(tokens: Any, characters: int) -> float:
    count = _number(tokens)
    return math.log(count / characters) if count > 0 and characters > 0 else math.nan


def _count(value: Any) -> int:
    known = _number(value)
    return int(known) if 0 < known < MOST_TOKENS else 0


def _number(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if known else math.nan
