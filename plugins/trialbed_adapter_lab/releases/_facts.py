"""The observations of one release, as facts that can be compared with its neighbour's."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from trialbed.records import Json, framework_profile, framework_release
from trialbed.texts import one_line
from trialbed.views import UNKNOWN, TableRow
from trialbed_adapter_lab.differences import Difference, differences
from trialbed_adapter_lab.fidelity import ErrorFinding, FrameworkFidelity, SchemaFinding
from trialbed_adapter_lab.fidelity.views import describe_difference, part_rows, value
from trialbed_adapter_lab.releases._records import MeasuredRelease, SentRequests

LONGEST = 200
"""Characters of a text that a fact shows; it is compared as a whole."""

TIMED = ("calls of one turn, s", "calls at once")
"""Rows of behaviour that depend on the speed of the machine: times, and how many calls are under way at once."""

NOT_MEASURED = "not measured"
"""The part of facts that say why another part has none."""

_SECONDS = re.compile(r" after [\d.]{1,20} s$")
_PLACES = re.compile(
    r"(?<=127\.0\.0\.1:)\d{1,5}(/t/[\w-]{1,80})?|0x[0-9a-f]{6,16}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b"
    r"|(?<=File \")/[^\"\n]{1,400}(?=/[^/\"\n]{1,100}\")"
)
"""Parts of texts that differ from trial to trial: addresses of trials and of objects, UUIDs, and folders of code."""


class FactKey(NamedTuple):
    """The subject of a fact.

    Attributes:
        profile: of the adapter; empty where it has none.
        part: of ``bench fidelity``, or ``requests``.
        subject: a case, a tool, a row of a table. ``aspect``: the side of it.
    """

    profile: str
    part: str
    subject: str
    aspect: str


@dataclass(frozen=True)
class Fact:
    """A fact.

    Attributes:
        shown: in few words. ``exact``: compared with that of other releases.
        bodies: of requests. ``changes``: to a schema, or to the arguments of its call. First differences are theirs.
    """

    shown: str
    exact: str
    bodies: tuple[Json, ...] = ()
    changes: tuple[Difference, ...] = ()


def facts_of(measured: MeasuredRelease) -> dict[FactKey, Fact]:
    """Return everything that was seen of a release, without times."""
    found: dict[FactKey, Fact] = {}
    for one in measured.figures:
        profile = one.profile or ""
        for (part, subject, aspect), fact in _of_figures(one):
            found[FactKey(profile, part, subject, aspect)] = fact
    for sent in measured.requests:
        key = FactKey(framework_profile(sent.framework) or "", "requests", "a trial with four tools", "")
        found |= {} if sent.reason else {key: _of_requests(sent)}
    return found


Named = tuple[tuple[str, str, str], Fact]


def _of_figures(one: FrameworkFidelity) -> Iterator[Named]:
    if one.errors is not None:
        for row in part_rows("errors", [one]):
            yield ("errors", row.label, "the user sees"), _plain(row.cells[0])
        for finding in one.errors:
            yield from _of_error(finding)
    if one.behaviour is not None:
        yield from _of_rows("behaviour", [row for row in part_rows("behaviour", [one]) if row.label not in TIMED])
        parallel = one.behaviour.parallel
        manner = "at the same time" if parallel.at_once > 1 else "one after the other"
        yield ("behaviour", "calls of one turn", ""), _plain(f"{parallel.made} of {parallel.asked} made, {manner}")
        for policy in (*one.behaviour.turns, *one.behaviour.refusals):
            text = f"{policy.requests.seen if policy.requests else UNKNOWN} requests, {policy.calls_made} calls"
            ended = f"; {_without_places(policy.ended)}" if policy.ended else ""
            yield ("behaviour", f"scripted:{policy.policy}", "requests"), _plain(text + ended)
    if one.prompt is not None:
        yield from _of_rows("prompt", part_rows("prompt", [one]))
    if one.schemas is not None:
        yield ("schemas", "all tools", "order"), _plain(one.schemas.order)
        for schema in one.schemas.findings:
            yield ("schemas", schema.name, "offered as"), _offer(schema)
            yield ("schemas", schema.name, "called with"), _call(schema)
    for gap in one.missing:
        reason = _without_places(gap.reason)
        # A reason that names the release would be another with each.
        exact = reason.replace(framework_release(one.framework) or reason, "…")
        yield (NOT_MEASURED, gap.part or "everything", ""), Fact(one_line(reason, LONGEST), exact)


def _of_rows(part: str, rows: Sequence[TableRow]) -> Iterator[Named]:
    for row in rows:
        yield (part, row.label, ""), _plain(_SECONDS.sub("", row.cells[0]))


def _of_error(finding: ErrorFinding) -> Iterator[Named]:
    if finding.told and not finding.calls:
        yield ("errors", finding.case, "the model is told"), _plain(_without_places(finding.told))
    if finding.text and finding.seen != "answer":
        yield ("errors", finding.case, "in these words"), _plain(_without_places(finding.text))


def _offer(schema: SchemaFinding) -> Fact:
    renamed = f"as {schema.sent_name}" if schema.sent_name not in (None, schema.name) else ""
    kinds = [f"{kind} {count}" for kind, count in _tally(schema.differences)]
    lost = [effect for effect in schema.effects if effect in ("missing", "refused")]
    shown = ", ".join(
        filter(None, [renamed, *kinds, *lost, *[f"{key}: {value(item)}" for key, item in schema.beside.items()]])
    )
    exact = [schema.effects, schema.sent_name, schema.beside, [item.model_dump() for item in schema.differences]]
    return Fact(shown or "as given", _digest(exact), changes=schema.differences)


def _call(schema: SchemaFinding) -> Fact:
    shown = schema.call + (f": {_without_places(schema.call_reason)}" if schema.call_reason else "")
    exact = [schema.call, schema.invented, [item.model_dump() for item in schema.call_differences]]
    return Fact(one_line(shown, LONGEST), _digest(exact), changes=schema.call_differences)


def _tally(found: Sequence[Difference]) -> list[tuple[str, int]]:
    kinds = [difference.kind for difference in found]
    return [(kind, kinds.count(kind)) for kind in dict.fromkeys(kinds)]


def _of_requests(sent: SentRequests) -> Fact:
    size = sum(len(json.dumps(body)) for body in sent.bodies)
    return Fact(f"{len(sent.bodies)} requests, {size:,} bytes", _digest(sent.bodies), bodies=sent.bodies)


def _plain(text: str) -> Fact:
    return Fact(one_line(text, LONGEST), text)


def _without_places(text: str) -> str:
    return _PLACES.sub("…", text)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:16]


def first_difference(before: Fact, now: Fact) -> str:
    """Return the first difference of the sources of two facts, in one line; empty if they have none."""
    if not (before.bodies and now.bodies):
        # The sources are changes to a schema; the first one that only one of the two releases makes counts.
        new = [f"now {describe_difference(one)}" for one in now.changes if one not in before.changes]
        gone = [f"no longer {describe_difference(one)}" for one in before.changes if one not in now.changes]
        return one_line(next(iter(new + gone), ""), LONGEST)
    for number, (old, new_body) in enumerate(zip(before.bodies, now.bodies, strict=False), 1):
        for found in differences(old, new_body):
            return one_line(f"request {number}, {describe_difference(found)}", LONGEST)
    return f"{len(before.bodies)} → {len(now.bodies)} requests; as far as both go they are equal"
