"""The scores of suites, and the parameters that answers to one prompt under several settings obey."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from trialbed.statistics import Estimate, wilson_interval
from trialbed.texts import group_by_key
from trialbed.wire.dialects import dialect
from trialbed_verify.rows import object_in, sent_request
from trialbed_verify.suites._expectations import REFUSED, misses

Row = Mapping[str, Any]

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
