"""The measurements that the panel keeps of one answer, in a few bytes, and the gates that compare them.

Categories are numbers. Words become a signature, a short vector of hashes: the share of unequal places of two is a
distance between sets of words.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from operator import attrgetter
from struct import Struct
from typing import Any, Literal, NamedTuple
from zlib import crc32

import numpy as np

from trialbed.errors import UsageError
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
from trialbed_verify.rows import (
    Body,
    VendorRows,
    answer_in,
    billed_tokens,
    object_in,
    sent_request,
    shows_message,
    text_in,
    usage_of,
)
from trialbed_verify.suites import score

OUTPUT_PRICE = 4.0
"""The price of a completion token in prompt tokens, about what vendors ask."""

MOST_TOKENS = 1 << 40

BUCKETS = 64
"""Places among which first tokens are spread by their hash; one more holds the probability that is not listed."""

LONG, SEVERAL = 40, 4
"""An argument with this many characters and words counts as free text."""

DEEPEST = 40
"""Examined levels of nested arguments."""

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
"""Characters used to recognise script and language."""

FEW = 2
"""Common words needed to recognise a language."""

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


Scale = Literal["category", "novelty", "signature", "number", "probabilities", "fault"]
"""The distance of two values: 1 if they differ; the share of unequal places; the difference, at most 1; the divergence.

``novelty``: a category whose excess is the share of the vendor's answers that the baseline never gives, less the share
of the baseline's own that its other trials never give.
``fault``: 1 for an answer with a fault; the gate compares their shares, and only more of them than the baseline has
counts.
"""

LOG_RANGE = 1.386
"""Difference of logarithms that counts as 1: a factor of four."""

BREAKING = BITS["schema"] | BITS["text"] | BITS["constraints"] | BITS["protocol"]
"""Violations that break a caller."""

BILLED = "at four prompt tokens for a completion token"
"""The price of tokens in the bill (``OUTPUT_PRICE``)."""

DISTANCE_SHARE = 0.5
"""The margin of a gate's distance, relative to the margin of its excess."""


@lru_cache(maxsize=65536)
def code(text: str) -> int:
    """Return a number for a category, the same in every process; never 0."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big") + 1


CALL, NO_CALL = code("call"), code("no call")


class Measures(NamedTuple):
    """The values of one answer that gates compare. Absent values are 0, None or nan.

    Attributes:
        source, place: location of its row.
        answered: whether there is a valid answer; without one, only availability is known.
        decision, tools, order, finish, form: categories.
        arguments, wording: signatures.
        calls: hashed names and arguments, to compare with the case's other trials.
        free: the signature of words in their free text.
        length, opening: logarithm of the text's length, and category of its first word.
        cut: whether the text ends in the middle of a sentence.
        made: category of the calls by names and arguments, regardless of order and free text.
        ratio: logarithm of the completion tokens per character of the answer.
        prompt, cost: the prompt tokens, and the tokens billed, in prompt tokens (``OUTPUT_PRICE``).
        schema: whether a call does not fit its schema; None if that is not known.
        asked, disobeyed: parameters that constrain the answer, and the ones it disobeys.
        violations: the subjects of ``SUBJECTS`` that the answer violates, as bits.
        logprobs: the probabilities of the first token's alternatives.
        suite: name of the suite and the score in it.
        digest, size: of the answer's whole text.
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
    name, scored = object_in(row, "suite").get("name"), score(row)
    suite = (name, scored) if isinstance(name, str) and scored is not None else None
    finish = row.get("finish_reason")
    if row.get("outcome") not in ("tool_calls", "stop", "other"):
        return Measures(source, place, answered=False, suite=suite)
    request, response = sent_request(row), object_in(row, "response")
    choice, message = answer_in(response)
    functions = [function_of(call) or call for call in objects_of(answered_calls(message))]
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
        decision=CALL if functions or (finish == "tool_calls" and not shows_message(choice)) else NO_CALL,
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
    """Return whether calls do not fit; None without calls, or if they cannot be checked."""
    if not calls and row.get("finish_reason") != "tool_calls":
        return None
    verdicts = [row.get("tool_calls_valid"), *(call.get("valid") for call in objects_of(row.get("calls")))]
    if violations & BITS["schema"] or False in verdicts:
        return True
    # Calls that are announced and missing do not fit.
    return False if True in verdicts else None if calls else True


def first_token(choice: Mapping[str, Any]) -> bytes | None:
    """Return the first token's probabilities as half-precision numbers; None if the answer has no log probabilities."""
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
    """Return ``empty`` or the script of most letters, plus the language of a Latin text if common words reveal it."""
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


@dataclass(frozen=True)
class PanelGate:
    """One subject on which a vendor is compared with the baseline.

    Attributes:
        margin: the largest acceptable excess.
        value: an answer's value; None if the gate does not apply to it.
        meaning: the subject, for readers.
        trait, having: the trait to compare with one trial per case, and the phrase for having it; may be empty.
        stands_alone: whether it is judged only over the cases that it applies to, even if they are few.
    """

    name: str
    scale: Scale
    margin: float
    value: Callable[[Measures], Any]
    meaning: str
    trait: str = ""
    having: str = ""
    stands_alone: bool = False

    @property
    def distance_margin(self) -> float | None:
        """Return the largest acceptable distance; None for a directed gate, which has no distance."""
        return None if self.is_directed else self.margin * DISTANCE_SHARE

    @property
    def is_directed(self) -> bool:
        """Return whether only an increase counts, as with faults and new answers."""
        return self.scale in ("fault", "novelty")


def _category(name: str) -> Callable[[Measures], Any]:
    return lambda found: getattr(found, name) or None


def _scaled(name: str, scale: float = 1.0) -> Callable[[Measures], Any]:
    return lambda found: None if (value := getattr(found, name)) != value else value / scale


def _violation(subject: str) -> Callable[[Measures], Any]:
    bit = BITS[subject]
    return lambda found: bool(found.violations & bit) if found.answered else None


def _breaking(found: Measures) -> int:
    """Return one category for everything that callers rely on."""
    faults = found.violations & BREAKING
    seen = (found.decision, found.made, found.finish, found.form, int(found.cut), int(found.schema or 0), faults)
    return (hash(seen) or 1) if found.answered else 0


def _everything(found: Measures) -> list[int]:
    """Return all categories of an answer, and places of its signatures; absent ones are 0."""
    places = [found.decision, found.tools, found.order, found.finish, found.form, int(found.answered)]
    for signature in (found.arguments, found.wording):
        places += FIRST_PLACES.unpack_from(signature or NOTHING)
    return [*places, int(found.schema or 0), found.violations, found.prompt, int(found.cut), found.opening]


DECISIONS = "decisions", "cases call"
TOOLS = "called tools", "cases call one of the tools"
ARGUMENTS = "arguments", "cases have one of the values"

GATES: tuple[PanelGate, ...] = (
    PanelGate("breaking", "novelty", 0.02, _breaking, "answers that break a caller"),
    PanelGate("decision", "category", 0.02, _category("decision"), "whether tools are called", *DECISIONS),
    PanelGate("tools", "category", 0.03, _category("tools"), "which tools are called", *TOOLS),
    PanelGate("arguments", "signature", 0.03, attrgetter("arguments"), "the arguments of calls", *ARGUMENTS),
    PanelGate("calls", "category", 0.03, _category("order"), "the number and order of calls"),
    PanelGate("finish", "category", 0.02, _category("finish"), "finish reasons"),
    PanelGate("schema", "fault", 0.02, attrgetter("schema"), "calls that break their schemas"),
    PanelGate("text-form", "category", 0.03, _category("form"), "form and language of texts"),
    PanelGate("text-opening", "category", 0.05, _category("opening"), "the first words of texts"),
    PanelGate("text-length", "number", 0.05, _scaled("length", LOG_RANGE), "the length of texts"),
    PanelGate("text-words", "signature", 0.05, attrgetter("wording"), "the words of texts"),
    PanelGate("text-leaks", "fault", 0.02, _violation("text"), "leaked tokens and broken encoding"),
    PanelGate("constraints", "fault", 0.02, _violation("constraints"), "constraints not obeyed"),
    PanelGate("availability", "fault", 0.02, lambda found: not found.answered, "requests without valid answers"),
    PanelGate("protocol", "fault", 0.02, _violation("protocol"), "answers that break the protocol"),
    PanelGate("usage", "fault", 0.02, _violation("usage"), "implausible token counts"),
    PanelGate("tokens", "number", 0.05, _scaled("ratio", LOG_RANGE), "tokens for the same text"),
    PanelGate("prompt-tokens", "category", 0.02, _category("prompt"), "prompt tokens of a request"),
    PanelGate("bill", "fault", 0.02, _scaled("cost"), f"the bill {BILLED}"),
    PanelGate("model", "fault", 0.02, _violation("model"), "answers that name another model"),
    PanelGate("logprobs", "probabilities", 0.02, attrgetter("logprobs"), "the first token's probabilities"),
)
"""All gates except suites', in report order."""

FIRST_PLACES = Struct("<4H")
"""Places of a signature that count in the comparison of everything."""

WHOLE = PanelGate("whole", "signature", 0.02, _everything, "everything together")
"""All subjects together, for the joint permutation test; not part of the verdict."""

PARAMETER, SUITE = "constraints:", "suite:"


def all_gates(trials: Sequence[Measures], margins: Mapping[str, float]) -> list[PanelGate]:
    """Return all gates, with one per suite and per parameter that constrains answers, and with other margins."""
    gates = list(GATES)
    for name in sorted({trial.suite[0] for trial in trials if trial.suite is not None}):
        meaning = f"cases of the suite {name} that went wrong"
        gates.append(PanelGate(f"{SUITE}{name}", "fault", 0.03, partial(_suite_loss, name), meaning))
    for name in sorted(set[str]().union(*(trial.asked for trial in trials))):
        meaning, disobeyed = f"answers that do not obey {name}", partial(_is_disobeyed, name)
        gates.append(PanelGate(f"{PARAMETER}{name}", "fault", 0.02, disobeyed, meaning, stands_alone=True))
    known = sorted(gate.name for gate in gates)
    for name, margin in margins.items():
        if name not in known and not name.startswith((SUITE, PARAMETER)):
            raise UsageError(f"--gate-margin: unknown gate {name!r}; choose from {', '.join(known)}")
        if not 0 < margin < 1:
            raise UsageError(f"--gate-margin: the margin of {name} is {margin:g}, but must lie between 0 and 1")
    return [replace(gate, margin=margins.get(gate.name, gate.margin)) for gate in gates]


def _suite_loss(name: str, found: Measures) -> float | None:
    return 1.0 - found.suite[1] if found.suite and found.suite[0] == name else None


def _is_disobeyed(name: str, found: Measures) -> bool | None:
    return name in found.disobeyed if found.answered and name in found.asked else None
