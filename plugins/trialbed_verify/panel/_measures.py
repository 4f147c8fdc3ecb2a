"""The measurements that the panel keeps of one answer, in a few bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from trialbed_verify.findings import PARAMETERS, constrained_parameters, findings, has_leaks
from trialbed_verify.panel._calls import Calls, call_measures
from trialbed_verify.panel._texts import NOTHING, code, form, is_cut, signature, words
from trialbed_verify.rows import Body, VendorRows, answer_in, billed_tokens, object_in, sent_request, text_in, usage_of
from trialbed_verify.suites import score

OUTPUT_PRICE = 4.0
"""The price of a completion token in prompt tokens, about what vendors ask."""

MOST_TOKENS = 1 << 40

BUCKETS = 64
"""Places among which first tokens are spread by their hash; one more holds the probability that is not listed."""

CALL, NO_CALL = code("call"), code("no call")

SUBJECTS = ("schema", "text", "constraints", "protocol", "usage", "model")
"""Gates of findings, in the order of ``Measures.violations``."""

BITS = {subject: 1 << place for place, subject in enumerate(SUBJECTS)}


class Measures(NamedTuple):
    """One answer, as far as gates compare it. Absent values are 0, None or nan.

    Attributes:
        source, place: where its row is.
        answered: whether there is a valid answer; without one, only availability is known.
        decision, tools, order, finish, form: categories.
        arguments, wording: signatures.
        calls: their names and arguments as hashes, for the comparison with the case's other trials.
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
    calls: Calls = ()
    free: bytes = NOTHING
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
    duration: float = math.nan
    digest: bytes = b""
    size: int = 0
    sampled: bool = True

    def read(self) -> Body:
        """Return the row; empty if it is gone."""
        return self.source.row_at(self.place)


def measure(row: Body, source: VendorRows, place: Any) -> Measures:
    """Measure a row, of this tool or of others."""
    suite = _suite(row)
    if not _is_answered(row):
        return Measures(source, place, answered=False, suite=suite)
    request, response = sent_request(row), object_in(row, "response")
    choice, message = answer_in(response)
    calls = call_measures(message, request)
    text, thought = (
        value if isinstance(value := message.get(key), str) else "" for key in ("content", "reasoning_content")
    )
    whole = f"{text}\n{thought}\n{_raw_calls(message)}"
    usage, finish = usage_of(response), str(row.get("finish_reason"))
    prompt, received = _number(usage.get("prompt_tokens")), _number(usage.get("completion_tokens"))
    if calls and finish == "stop" and isinstance(request.get("tool_choice"), dict):
        # A call that was forced may end with ``stop``, as OpenAI's own endpoint ends it.
        finish = "tool_calls"
    violations, disobeyed = _violations(row, text)
    at = text_in(row, "last_run_at")
    return Measures(
        source=source,
        place=place,
        answered=True,
        decision=CALL if calls or (not choice and finish == "tool_calls") else NO_CALL,
        finish=code(finish),
        **(calls or _text_measures(text)),
        ratio=math.log(received / (len(whole) - 2)) if received > 0 and len(whole) > 2 else math.nan,
        prompt=int(prompt) if 0 < prompt < MOST_TOKENS else 0,
        cost=prompt + OUTPUT_PRICE * _number(billed_tokens(usage)),
        schema=_schema(row, calls=bool(calls), violations=violations),
        violations=violations,
        asked=frozenset(constrained_parameters(request)),
        disobeyed=disobeyed,
        logprobs=first_token(choice),
        suite=suite,
        response_id=text_in(response, "id"),
        at=at if at is not None and "." in at else None,
        duration=_number(row.get("duration_ms")),
        digest=blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).digest(),
        size=len(whole) - 2,
        sampled=request.get("temperature") != 0,
    )


def _is_answered(row: Body) -> bool:
    outcome = row.get("outcome")
    if isinstance(outcome, str):
        return outcome in ("tool_calls", "stop", "other")
    return row.get("status") == "success" and row.get("finish_reason") is not None


def _text_measures(text: str) -> dict[str, Any]:
    said = words(text)
    found = {"form": code(form(text)), "length": math.log1p(len(text)), "wording": signature(said)}
    return found | {"opening": code(said[0] if said else ""), "cut": is_cut(text)}


def _schema(row: Body, *, calls: bool, violations: int) -> bool | None:
    """Return whether calls do not fit; None without calls, or where they cannot be checked."""
    if not calls and row.get("finish_reason") != "tool_calls":
        return None
    listed = row.get("calls")
    verdicts = [call.get("valid") for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    verdicts.append(row.get("tool_calls_valid"))
    if not calls or violations & BITS["schema"] or any(verdict is False for verdict in verdicts):
        return True
    return False if any(verdict is True for verdict in verdicts) else None


def _violations(row: Body, text: str) -> tuple[int, frozenset[str]]:
    """Return the subjects that an answer violates, as bits, and the parameters that it does not obey."""
    found = [one for one in findings(row) if one.severity == "violation"]
    bits = BITS["text"] if has_leaks(text) else 0
    for one in found:
        bits |= BITS[one.gate]
    kinds = {one.kind for one in found}
    return bits, frozenset(name for name, own in PARAMETERS.items() if not kinds.isdisjoint(own))


def _suite(row: Body) -> tuple[str, float] | None:
    name = object_in(row, "suite").get("name")
    found = score(row) if isinstance(name, str) else None
    return None if found is None else (str(name), float(found))


def _raw_calls(message: Body) -> str:
    found = message.get("tool_calls")
    listed = (
        [object_in(call, "function") for call in found if isinstance(call, dict)] if isinstance(found, list) else []
    )
    return "".join(f"{function.get('name')}{function.get('arguments')}" for function in listed if function)


def _number(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if known else math.nan


def first_token(choice: Mapping[str, Any]) -> bytes | None:
    """Return the probabilities of the first token as half-precision numbers; None if the answer has none."""
    found = np.zeros(BUCKETS + 1, dtype=np.float64)
    for token, logprob in _alternatives(choice.get("logprobs")):
        found[crc32(token.encode("utf-8", "surrogatepass")) % BUCKETS] += math.exp(min(0.0, logprob))
    total = found.sum()
    if total <= 0:
        return None
    found[BUCKETS] = max(0.0, 1.0 - total)
    return bytes((found / found.sum()).astype(np.float16).tobytes())


def _alternatives(logprobs: Any) -> list[tuple[str, float]]:
    """Return tokens with their logarithms: of chat completions, else of completions."""
    if not isinstance(logprobs, Mapping):
        return []
    content, top = logprobs.get("content"), logprobs.get("top_logprobs")
    first = top[0] if isinstance(top, list) and top else None
    pairs = list(first.items()) if isinstance(first, Mapping) else []
    if isinstance(content, list) and content and isinstance(content[0], Mapping):
        listed = content[0].get("top_logprobs") or [content[0]]
        own = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        pairs = [(one.get("token"), one.get("logprob")) for one in own]
    return [(str(token), float(value)) for token, value in pairs if isinstance(value, int | float)]
