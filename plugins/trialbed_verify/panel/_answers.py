"""The measurements that the panel keeps of one answer, in a few bytes, as values that need no model to compare.

Categories are numbers. Words become a signature, a short vector of hashes: the share of unequal places of two is a
distance between sets of words.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from trialbed.wire import lenient_json
from trialbed.wire.dialects.chat_completions import answered_calls
from trialbed_verify.findings import (
    PARAMETERS,
    constrained_parameters,
    findings,
    function_of,
    has_leaks,
    objects_of,
    text_of,
)
from trialbed_verify.rows import Body, VendorRows, answer_in, billed_tokens, object_in, sent_request, text_in, usage_of
from trialbed_verify.suites import score

OUTPUT_PRICE = 4.0
"""The price of a completion token in prompt tokens, about what vendors ask."""

MOST_TOKENS = 1 << 40

BUCKETS = 64
"""Places among which first tokens are spread by their hash; one more holds the probability that is not listed."""

LONG, SEVERAL = 40, 4
"""Characters and words from which an argument counts as free text."""

DEEPEST = 40
"""Levels of nested arguments that are looked at."""

FREE = 0
"""The hash of free text."""

PLACES = 16
"""Hashes of a signature."""

NOTHING = bytes(2 * PLACES)
"""The signature of no words."""

RANDOM = np.random.default_rng(20)
FACTORS = RANDOM.integers(1, 1 << 31, PLACES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
OFFSETS = RANDOM.integers(0, 1 << 32, PLACES, dtype=np.uint64)

MOST_WORDS = 400
"""Words of a text that count; a difference shows in the first ones."""

WORD = re.compile(r"[^\W_]+|[^\w\s]", re.UNICODE)
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
LETTER = re.compile(r"[a-zA-Z]")
LETTERS = re.compile(r"[^\W\d_]+")

SAMPLE = 600
"""Characters by which script and language are recognised."""

FEW = 2
"""Common words by which a language is recognised."""

COMMON = {
    "en": "the and is of to in you that it for with are this have your can was not i",
    "de": "der die das und ist nicht ich sie zu den mit für auf ein eine wir haben kann im",
    "fr": "le la les et est pas je vous des une dans pour que qui sur avec ce il du",
    "es": "el la los las y es no que de en una para con por su se un lo como",
    "pt": "o os as e é não que de em uma para com por seu se um ao como você",
    "it": "il lo gli e è non che di in una per con su si un come sono della",
    "nl": "de het een en is niet ik je van dat met voor op zijn te aan wij kan er",
}
"""Language -> words that most of its texts have; for those written in Latin letters."""

WORDS = {language: frozenset(words.split()) for language, words in COMMON.items()}

SUBJECTS = ("schema", "text", "constraints", "protocol", "usage", "model")
"""Gates of findings, in the order of ``Measures.violations``."""

BITS = {subject: 1 << place for place, subject in enumerate(SUBJECTS)}

Value = tuple[int, int, bool]
"""The hashes of an argument's path and of its value, ``FREE`` for free text; and whether it stands in the request."""

Calls = tuple[tuple[int, tuple[Value, ...]], ...]
"""The hash of each call's name with its values."""


@lru_cache(maxsize=65536)
def code(text: str) -> int:
    """Return a number for a category, the same in every process; never 0."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big") + 1


CALL, NO_CALL = code("call"), code("no call")


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
    name = object_in(row, "suite").get("name")
    scored = score(row) if isinstance(name, str) else None
    suite = None if scored is None else (str(name), float(scored))
    outcome, finish = row.get("outcome"), row.get("finish_reason")
    by_others = row.get("status") == "success" and finish is not None
    if not (outcome in ("tool_calls", "stop", "other") if isinstance(outcome, str) else by_others):
        return Measures(source, place, answered=False, suite=suite)
    request, response = sent_request(row), object_in(row, "response")
    choice, message = answer_in(response)
    functions = [function for call in answered_calls(response) if (function := function_of(call))]
    said = [text if isinstance(text := message.get(key), str) else "" for key in ("content", "reasoning_content")]
    made = "".join(f"{function.get('name')}{function.get('arguments')}" for function in functions)
    whole, usage = "\n".join([*said, made]), usage_of(response)
    prompt, received = _number(usage.get("prompt_tokens")), _number(usage.get("completion_tokens"))
    if functions and finish == "stop" and isinstance(request.get("tool_choice"), dict):
        # A call that was forced may end with ``stop``, as OpenAI's own endpoint ends it.
        finish = "tool_calls"
    violated = [one for one in findings(row) if one.severity == "violation"]
    kinds, subjects = {one.kind for one in violated}, {one.gate for one in violated}
    violations = sum(BITS[subject] for subject in subjects | ({"text"} if has_leaks(said[0]) else set()))
    at = text_in(row, "last_run_at")
    return Measures(
        source=source,
        place=place,
        answered=True,
        decision=CALL if functions or (not choice and finish == "tool_calls") else NO_CALL,
        finish=code(str(finish)),
        **(_call_measures(functions, request) if functions else _text_measures(said[0])),
        ratio=math.log(received / (len(whole) - 2)) if received > 0 and len(whole) > 2 else math.nan,
        prompt=int(prompt) if 0 < prompt < MOST_TOKENS else 0,
        cost=prompt + OUTPUT_PRICE * _number(billed_tokens(usage)),
        schema=_breaks_schema(row, calls=bool(functions), violations=violations),
        violations=violations,
        asked=frozenset(constrained_parameters(request)),
        disobeyed=frozenset(name for name, own in PARAMETERS.items() if not kinds.isdisjoint(own)),
        logprobs=first_token(choice),
        suite=suite,
        response_id=text_in(response, "id"),
        at=at if at is not None and "." in at else None,
        duration=_number(row.get("duration_ms")),
        digest=blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).digest(),
        size=len(whole) - 2,
        sampled=request.get("temperature") != 0,
    )


def _number(value: Any) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if known else math.nan


def _breaks_schema(row: Body, *, calls: bool, violations: int) -> bool | None:
    """Return whether calls do not fit; None without calls, or where they cannot be checked."""
    if not calls:
        return True if row.get("finish_reason") == "tool_calls" else None
    verdicts = [row.get("tool_calls_valid"), *(call.get("valid") for call in objects_of(row.get("calls")))]
    if violations & BITS["schema"] or False in verdicts:
        return True
    return False if True in verdicts else None


def first_token(choice: Mapping[str, Any]) -> bytes | None:
    """Return the probabilities of the first token as half-precision numbers; None if the answer has none."""
    logprobs = object_in(choice, "logprobs")
    tops, tokens = (objects_of(logprobs.get(key))[:1] for key in ("top_logprobs", "content"))
    # Of completions, an object of alternatives; of chat completions, a list of them.
    pairs: list[tuple[Any, Any]] = [pair for top in tops for pair in top.items()]
    for token in tokens:
        pairs = [(one.get("token"), one.get("logprob")) for one in objects_of(token.get("top_logprobs")) or [token]]
    found = np.zeros(BUCKETS + 1, dtype=np.float64)
    for name, logprob in pairs:
        if not math.isnan(known := _number(logprob)):
            found[crc32(str(name).encode("utf-8", "surrogatepass")) % BUCKETS] += math.exp(min(0.0, known))
    total = found.sum()
    if total <= 0:
        return None
    found[BUCKETS] = max(0.0, 1.0 - total)
    return bytes((found / found.sum()).astype(np.float16).tobytes())


def _text_measures(text: str) -> dict[str, Any]:
    said, last = words(text), text.rstrip()[-1:]
    found = {"form": code(form(text)), "length": math.log1p(len(text)), "wording": signature(said)}
    # After a letter, or one of these marks, more must come.
    return found | {"opening": code(said[0] if said else ""), "cut": last.isalpha() or last in tuple(",;([{-")}


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; writing without spaces is split into characters."""
    found = WORD.findall(WIDE.sub(lambda match: f" {match[0]} ", text[: 12 * MOST_WORDS].lower()))
    return found[:MOST_WORDS]


def signature(tokens: Iterable[str]) -> bytes:
    """Return the signature of a set of tokens.

    Two signatures differ in about as many places as the Jaccard distance of their sets says (MinHash; A. Broder, "On
    the Resemblance and Containment of Documents", 1997).
    """
    hashed = np.fromiter({crc32(token.encode("utf-8", "surrogatepass")) for token in tokens}, dtype=np.uint64, count=-1)
    if not len(hashed):
        return NOTHING
    mixed = (hashed[:, None] * FACTORS + OFFSETS) & np.uint64(0xFFFFFFFF)
    return bytes((mixed.min(axis=0) >> np.uint64(8)).astype(np.uint16).tobytes())


def form(text: str) -> str:
    """Return ``empty``, or the script of most letters; for Latin ones with the language, where common words show it."""
    sample = text[:SAMPLE]
    if not text.strip():
        return "empty"
    if not (sample.isascii() and LETTER.search(sample)):
        scripts = Counter(map(_script, filter(str.isalpha, sample)))
        script = max(scripts, key=scripts.__getitem__, default="no letters")
        if script != "LATIN":
            return script.lower()
    found = set(LETTERS.findall(sample.lower()))
    (second, _), (best, language) = sorted((len(found & common), name) for name, common in WORDS.items())[-2:]
    return f"latin {language if best >= FEW and best > second else 'unclear'}"


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "OTHER").split(" ", 1)[0]
    return "CJK" if name in ("CJK", "HIRAGANA", "KATAKANA") else name


def _call_measures(functions: Iterable[Mapping[str, Any]], request: Body) -> dict[str, Any]:
    """Return the measures of an answer's calls, by the attributes of ``Measures``."""
    asked = "\n".join(text_of(message.get("content")) for message in objects_of(request.get("messages")))
    calls, names, free = list[tuple[int, tuple[Value, ...]]](), set[str](), set[str]()
    for function in functions:
        name, arguments = str(function.get("name") or ""), function.get("arguments")
        if isinstance(arguments, str):
            arguments = lenient_json(arguments, {"not JSON": arguments}) if arguments.strip() else {}
        values: list[Value] = []
        for path, value in _leaves(arguments, ""):
            is_free = isinstance(value, str) and (len(value) >= LONG or len(value.split()) >= SEVERAL)
            free.update(f"{path}={word}" for word in (words(value) if is_free else ()))
            exact = FREE if is_free else _hash(f"{path}={_typed_text(value)}") or 1
            values.append((_hash(path), exact, _is_quoted(value, asked)))
        names.add(name)
        calls.append((_hash(name), tuple(sorted(values))))
    return {"tools": code("\n".join(sorted(names))), "calls": tuple(calls), "free": signature(free)}


def _is_quoted(value: Any, asked: str) -> bool:
    """Return whether a value is a text that stands in the request as whole words."""
    if not isinstance(value, str) or not value or value not in asked:
        return False
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", asked) is not None


@lru_cache(maxsize=65536)
def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _leaves(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth < DEEPEST and isinstance(value, dict | list) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, f"{path}/{key}", depth + 1)
    else:
        yield path, value


def _typed_text(value: Any) -> str:
    """A value with its type; 1 and 1.0 are the same number, as in JSON Schema."""
    if isinstance(value, str):
        return f"string {value.strip()}"
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    return f"{type(value).__name__} {value}"
