"""Suites, the expectations of their cases, and the scores of answers to them."""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trialbed.errors import UsageError
from trialbed.files import write_text
from trialbed.statistics import Estimate, wilson_interval
from trialbed.suggestions import closest, did_you_mean
from trialbed.texts import group_by_key
from trialbed.tool_calls import same_value
from trialbed.wire import lenient_json
from trialbed.wire.dialects import dialect
from trialbed_verify.call_schemas import usable_schema
from trialbed_verify.findings import AnsweredRow, alternatives_of, findings, function_of, list_of, object_of, text_of
from trialbed_verify.rows import object_in, sent_request


@dataclass(frozen=True)
class Suite:
    """A test set that comes with Trialbed; its cases are the lines of the file with its name."""

    name: str
    about: str
    size: int

    def cases(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of its test set; ``@NAME`` among the tools of a file is a tool of ``tools.jsonl``."""
        declared = map(orjson.loads, _read("tools.jsonl").splitlines())
        tools = {f"@{tool['function']['name']}": tool for tool in declared}
        for case in map(orjson.loads, _read(f"{self.name}.jsonl").splitlines()):
            if isinstance(case.get("tools"), list):
                case["tools"] = [tools.get(tool, tool) if isinstance(tool, str) else tool for tool in case["tools"]]
            yield case


def _read(name: str) -> bytes:
    folder = files("trialbed_verify.suites")
    file = folder / name
    return file.read_bytes() if file.is_file() else lzma.decompress((folder / f"{name}.xz").read_bytes())


SUITES = {name: Suite(name, **about) for name, about in tomllib.loads(_read("suites.toml").decode()).items()}


def suite(name: str) -> Suite:
    """Return the suite of this name."""
    if name not in SUITES:
        close = did_you_mean(closest(name, SUITES))
        raise UsageError(f"there is no suite {name!r}{close} The suites are {', '.join(SUITES)}")
    return SUITES[name]


def write_test_set(names: Sequence[str], path: Path) -> int:
    """Write the cases of these suites, each once, as a test set, and return their number."""
    cases = [orjson.dumps(case).decode() for name in dict.fromkeys(names) for case in suite(name).cases()]
    write_text(path, "".join(f"{case}\n" for case in cases), "--write-test-set")
    return len(cases)


Row = Mapping[str, Any]
MISSING = object()

SHOWN = 40
"""Characters of a wrong value that are shown."""

LEAKS = frozenset(("leaked_tokens", "leaked_tool_call", "leaked_thinking", "replacement_characters"))
"""Kinds of findings: marks of templates, tools and thoughts, and of bytes that were no text."""

REFUSED = ("http_400", "http_413", "http_422", "http_501")
"""Problems of endpoints that reject the request itself; other failures do not decide a case."""

FELL = "http_500"
"""The problem of an endpoint that a wrong request fells, after all attempts."""


Check = Callable[[Any, AnsweredRow], bool | None]
"""The expected value, and the answer -> True if the answer has it; None if it does not apply."""


def _answered(_: Any, answer: AnsweredRow) -> bool:
    """The answer has a call or a text."""
    return bool(_calls_of(answer) or answer.content.strip() or _was_cut(answer))


def _calls(expected: bool, answer: AnsweredRow) -> bool | None:
    """There is a call, or there is none."""
    has_calls = bool(_calls_of(answer))
    return None if expected and not has_calls and _was_cut(answer) else has_calls is expected


def _tool(expected: list[str], answer: AnsweredRow) -> bool | None:
    """The tools that may be called."""
    calls = _calls_of(answer)
    return all(name in expected for name, _ in calls) if calls else None


def _most_calls(expected: int, answer: AnsweredRow) -> bool:
    """The greatest number of calls."""
    return len(_calls_of(answer)) <= expected


def _arguments(expected: Mapping[str, Any], answer: AnsweredRow) -> bool | None:
    """The arguments of a call, types included."""
    calls = _calls_of(answer)
    return any(same_value(given, expected) for _, given in calls) if calls and not _was_cut(answer) else None


def _json(expected: Any, answer: AnsweredRow) -> bool | None:
    """The text is a JSON object; a schema that it matches, or true."""
    if _calls_of(answer) or _was_cut(answer):
        return None
    value = lenient_json(answer.content)
    if expected is True or not isinstance(value, dict):
        return isinstance(value, dict)
    schema = usable_schema(expected)
    # An unusable schema is the test set's fault.
    return None if isinstance(schema, str) else schema.is_valid(value)


def _most_tokens(expected: int, answer: AnsweredRow) -> bool | None:
    """The greatest number of completion tokens, as reported."""
    tokens, limit = answer.row.get("completion_tokens"), _sent_value(answer, "max_tokens", expected)
    return None if tokens is None or not isinstance(limit, int) else tokens <= limit


def _clean(_: Any, answer: AnsweredRow) -> bool:
    """There are no marks of templates, tools or thoughts in what was generated."""
    return not any(one.kind in LEAKS for one in findings(answer.row))


def _without(expected: list[str], answer: AnsweredRow) -> bool:
    """The texts, such as those of `stop`, that are not in the text."""
    return not any(text in answer.content for text in expected)


def _refusal(expected: bool | Mapping[str, Any], answer: AnsweredRow) -> bool | None:
    """True, or the wrong parameters as they must have been sent: the request is refused (HTTP 400 and the like)."""
    wrong = expected.items() if isinstance(expected, Mapping) else ()
    return None if any(not same_value(_sent_value(answer, *one), one[1]) for one in wrong) else not expected


def _choices(expected: int, answer: AnsweredRow) -> bool:
    """The number of choices."""
    indices = [choice.get("index") for choice in answer.choices]
    return len(indices) == expected and all(indices.count(index) == 1 for index in indices)


def _logprobs(expected: int, answer: AnsweredRow) -> bool:
    """The first choice has log probabilities with at most this many alternatives."""
    tokens = list_of(object_of(answer.choice.get("logprobs")).get("content"))
    return bool(tokens) and all(0 < len(alternatives_of(token)) <= expected for token in tokens)


def _calls_of(answer: AnsweredRow) -> list[tuple[str, Any]]:
    """Return names and parsed arguments of the calls; invalid JSON becomes ``MISSING``."""
    functions = map(function_of, list_of(answer.calls))
    return [(str(one.get("name")), lenient_json(text_of(one.get("arguments")), MISSING)) for one in functions]


def _was_cut(answer: AnsweredRow) -> bool:
    return answer.reason == "length"


def _sent_value(answer: AnsweredRow, name: str, expected: Any) -> Any:
    """Return the sent value of a parameter, which options and drivers may have changed; ``expected`` if unknown."""
    return answer.request.get(name) if isinstance(answer.row.get("request"), dict) else expected


_CHECKS = (_answered, _calls, _tool, _most_calls, _arguments, _json, _most_tokens, _clean, _without)
EXPECTATIONS: Mapping[str, Check] = {check.__name__[1:]: check for check in (*_CHECKS, _refusal, _choices, _logprobs)}
"""Keys of ``expect`` -> their checks, whose docstrings say what the values mean."""


def suite_fault(about: Any) -> str | None:
    """Return the reason why a line's ``suite`` cannot be scored; None if it can be."""
    if not isinstance(about, Mapping):
        return "suite: not an object"
    if ("name" in about or "expect" in about) and not isinstance(about.get("name"), str):
        return f"suite: the name is {json.dumps(about.get('name'))[:SHOWN]}, not a text"
    expected = about.get("expect", {})
    if not isinstance(expected, Mapping):
        return "suite: expect is not an object with expectations"
    unknown = next((name for name in expected if name not in EXPECTATIONS), None)
    if unknown is None:
        return None
    close = did_you_mean(closest(unknown, EXPECTATIONS))
    return f"suite: unknown expectation {unknown[:SHOWN]!r}{close} The expectations are {', '.join(EXPECTATIONS)}"


def score(row: Row) -> float | None:
    """Return 1 if an answer meets the expectations of its case, else 0; None if the row does not decide it.

    Refused requests (HTTP 400 and the like) and answers that break the protocol count as wrong. Unavailable endpoints
    (other statuses, timeouts, broken connections) return None.
    """
    found = misses(row)
    return None if found is None else float(not found)


def misses(row: Row) -> list[str] | None:
    """Return the expectations that an answer misses, or ``refused`` or ``protocol``; None as for ``score``."""
    expected, kind = object_in(object_in(row, "suite"), "expect"), object_in(row, "problem").get("kind")
    if not expected:
        return None
    if row.get("status") == "success":
        answer = AnsweredRow(row)
        met = {name: EXPECTATIONS[name](value, answer) for name, value in expected.items() if name in EXPECTATIONS}
        return [name for name in met if met[name] is False] if {*met.values()} - {None} else None
    if kind in REFUSED:
        return [] if expected.get("refusal") else ["refused"]
    if kind == FELL and expected.get("refusal"):
        return ["refusal"]
    return ["protocol"] if row.get("outcome") == "protocol_error" else None


SETTINGS = {"temperature": ("temperature 0", "temperature 1.5"), "seed": ("one seed", "other seeds")}
"""Parameter -> the settings for equal answers to one prompt, and for different ones."""

EQUAL = 0.8
"""Share of equal pairs for answers to count as equal; vendors that batch requests are not deterministic."""

DIRECT = ("n", "logprobs")
"""Parameters with an effect on a single answer."""

MOST_VALUES = 200
"""Values of one property that are broken down; a test set of one's own could have one per case."""

EXAMPLES = 3


class ParameterProbe(NamedTuple):
    """One answer that shows whether a parameter is obeyed.

    Attributes:
        finding: ``answered``, ``changed`` or ``refused``; of the parameters in ``DIRECT`` ``obeyed``, ``ignored`` or
            ``refused``.
        setting: a name of ``SETTINGS``.
    """

    parameter: str
    finding: str
    setting: str = ""
    prompt: str = ""
    text: bytes = b""


class SuiteRow(NamedTuple):
    """The facts about a row of a suite that are summed up.

    Attributes:
        missed: the expectations that the answer misses; None if the row has no score.
        line: of the test set, 0 if the row does not say it.
    """

    suite: str
    case: str
    by: tuple[tuple[str, str], ...]
    missed: tuple[str, ...] | None
    line: int
    trial: int
    probe: ParameterProbe | None


def suite_row(row: Row) -> SuiteRow | None:
    """Return the facts about a row; None if it is not of a suite."""
    about = object_in(row, "suite")
    if not isinstance(about.get("name"), str):
        return None
    found, by = misses(row), object_in(about, "by")
    properties = tuple((str(name), str(value)) for name, value in by.items())
    line, trial = (value if isinstance(value := row.get(key), int) else 0 for key in ("data_index", "trial"))
    missed = None if found is None else tuple(found)
    probe = _read_probe(row, object_in(about, "probe"), by.get("parameter"), missed)
    return SuiteRow(about["name"], str(about.get("case")), properties, missed, line, trial, probe)


def _read_probe(row: Row, probe: Row, parameter: Any, missed: Sequence[str] | None) -> ParameterProbe | None:
    if parameter in DIRECT:
        finding = "refused" if missed and "refused" in missed else "ignored" if missed else "obeyed"
        return None if missed is None else ParameterProbe(parameter, finding)
    name, request = str(probe.get("parameter")), sent_request(row)
    # Options, entries and drivers can replace the settings that a case probes.
    is_changed = any(request.get(key) != value for key, value in object_in(probe, "sent").items())
    if is_changed or object_in(row, "problem").get("kind") in REFUSED:
        return ParameterProbe(name, "changed" if is_changed else "refused")
    if not probe or row.get("status") != "success" or not isinstance(row.get("response"), dict):
        return None
    text = dialect().read_answer(row["response"]).text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(text, digest_size=8).digest()
    return ParameterProbe(name, "answered", str(probe.get("arm")), str(probe.get("prompt")), digest)


def summarize_suites(rows: Iterable[SuiteRow]) -> dict[str, dict[str, Any]]:
    """Return suite -> its summary, as the JSON object that users read."""
    return {name: _summary(own) for name, own in group_by_key((row.suite, row) for row in rows).items()}


def _summary(rows: Sequence[SuiteRow]) -> dict[str, Any]:
    # In the order of the test set, not of the answers' arrival.
    scored = sorted((row for row in rows if row.missed is not None), key=lambda row: (row.line, row.trial))
    cases = group_by_key((row.case, not row.missed) for row in scored)
    values = group_by_key((pair, row.case) for row in scored for pair in row.by)
    by = dict[str, dict[str, Any]]()
    # Numbers by size.
    for name, value in sorted(values, key=lambda pair: (pair[0], len(pair[1]), pair[1])):
        if len(by.setdefault(name, {})) < MOST_VALUES:
            by[name][value] = _score([cases[case] for case in dict.fromkeys(values[name, value])])
    missed = [(name, (row.line, row.trial, row.case)) for row in scored for name in row.missed or ()]
    return {
        "rows": len(rows),
        "scored": len(scored),
        "cases": len(cases),
        "score": _score(cases.values()),
        "by": by,
        "misses": dict(Counter(name for name, _ in missed).most_common()),
        "examples": {
            name: [{"case": case, "line": line or None, "trial": trial} for line, trial, case in own[:EXAMPLES]]
            for name, own in group_by_key(missed).items()
        },
        "parameters": _parameters([row.probe for row in rows if row.probe]),
    }


def _score(cases: Iterable[Sequence[bool]]) -> dict[str, Any] | None:
    """Return the mean over cases; all trials of a case are one observation, as they may always agree."""
    means = [sum(trials) / len(trials) for trials in cases]
    if not means:
        return None
    value = min(1.0, math.fsum(means) / len(means))
    return Estimate(value, wilson_interval(value, len(means)), len(means)).as_json()


def _parameters(probes: Sequence[ParameterProbe]) -> dict[str, dict[str, Any]]:
    """Return parameter -> the finding, and the answers that it is based on."""
    groups, found = group_by_key((probe.parameter, probe) for probe in probes), dict[str, dict[str, Any]]()
    for name in filter(groups.__contains__, (*SETTINGS, *DIRECT)):
        counts = Counter(probe.finding for probe in groups[name])
        if name in DIRECT:
            found[name] = {"finding": "mixed" if len(counts) > 1 else next(iter(counts)), "answers": dict(counts)}
            continue
        shares = {at: _equal([one for one in groups[name] if one.setting == at]) for at in SETTINGS[name]}
        still, moving = shares.values()
        finding = "refused" if counts["refused"] else "unknown"
        if still is not None and moving is not None:
            finding = "obeyed" if still >= EQUAL > moving else "ignored"
        failed = {key: counts[key] for key in ("refused", "changed")}
        found[name] = {"finding": finding, "equal_pairs": shares, **failed}
    return found


def _equal(answers: Sequence[ParameterProbe]) -> float | None:
    """Return the share of equal pairs among answers to the same prompt; None if there is no pair."""
    prompts = group_by_key((probe.prompt, probe.text) for probe in answers).values()
    pairs = [one == other for texts in prompts for one, other in combinations(texts, 2)]
    return sum(pairs) / len(pairs) if pairs else None
