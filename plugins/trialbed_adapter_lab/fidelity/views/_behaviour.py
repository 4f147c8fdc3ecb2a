"""The rows on how a framework behaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from trialbed.views import UNKNOWN, TableRow
from trialbed_adapter_lab.fidelity import Behaviour, FrameworkFidelity, PolicyRequests, Settings
from trialbed_adapter_lab.fidelity.views._cells import line, of, some, value


def behaviour_rows(found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    """Yield the rows on requests, parallel calls, settings and limits."""
    parts = [one.behaviour for one in found]
    yield line("requests per turn", parts, _per_turn)
    yield line("requests repeated", parts, lambda part: _sum(part, [one.repeated for one in part.requests]))
    yield line("hidden requests", parts, lambda part: _sum(part, [one.aside for one in part.requests]))
    yield line("turns too many", parts, lambda part: _sum(part, [max(0, one.beyond) for one in part.requests]))
    yield line("turns missing", parts, lambda part: _sum(part, [one.missing for one in part.requests]))
    yield line("tool calls made", parts, _calls)
    yield line("trials that failed", parts, lambda part: _failures(part.turns))
    for status in _statuses(parts):
        yield line(f"requests after status {status}", parts, partial(text_after, status=status))
    yield line("calls of one turn", parts, _manner)
    yield line("… from first to last, s", parts, _overlap)
    yield from _setting_rows([part.settings if part else None for part in parts])
    yield line("step limit", parts, _steps)
    yield line("time limit", parts, _time)


def _per_turn(part: Behaviour) -> str:
    if not part.requests:
        return UNKNOWN
    seen, expected = sum(one.seen for one in part.requests), sum(one.expected for one in part.requests)
    return f"{seen / expected:.2f} ({seen} for {expected})"


def _sum(part: Behaviour, counts: Sequence[int]) -> str:
    return some(sum(counts)) if part.requests else UNKNOWN


def _calls(part: Behaviour) -> str:
    made, sent = sum(one.calls_made for one in part.turns), sum(one.calls_sent for one in part.turns)
    return f"{made} for {sent} sent"


def _failures(policies: Sequence[PolicyRequests]) -> str:
    failed = [policy.policy for policy in policies if policy.ended]
    return ", ".join(failed) if failed else f"none of {len(policies)}"


def _statuses(parts: Sequence[Behaviour | None]) -> list[str]:
    return next(([refusal.policy for refusal in part.refusals] for part in parts if part is not None), [])


def text_after(part: Behaviour, status: str) -> str:
    """Return the number of requests after a refusal."""
    found = part.requests_after(status)
    return UNKNOWN if found is None else f"{found}"


def _manner(part: Behaviour) -> str:
    parallel = part.parallel
    words = {"parallel": "in parallel", "sequence": "in sequence", "partly parallel": "partly in parallel"}
    made = of(parallel.made, parallel.asked)
    if parallel.manner == "refused":
        return f"refused: {made} made"
    return f"{words[parallel.manner]}: {of(parallel.at_once, parallel.asked)} at once"


def _overlap(part: Behaviour) -> str:
    parallel = part.parallel
    if parallel.seconds is None or parallel.longest is None:
        return UNKNOWN
    return f"{parallel.seconds:.2f}, longest call {parallel.longest:.2f}"


def _setting_rows(parts: Sequence[Settings | None]) -> Iterator[TableRow]:
    names = next(([setting.name for setting in part.settings] for part in parts if part is not None), [])
    for name in names:
        yield line(name, parts, partial(_setting, name=name))
    yield line("other fields", parts, _others)


def _setting(part: Settings, name: str) -> str:
    setting = next((setting for setting in part.settings if setting.name == name), None)
    if setting is None:
        return "none in its dialect"
    if setting.honoured:
        return "as asked"
    sent = " | ".join(map(value, setting.sent))
    if not setting.sent:
        return "not sent"
    return f"sent as {sent}" + (f", not sent {setting.absent} times" if setting.absent else "")


def _others(part: Settings) -> str:
    shown = [f"{name}: {' | '.join(map(value, values))}" for name, values in part.others.items()]
    return ", ".join(shown) or "none"


def _steps(part: Behaviour) -> str:
    limit = part.step_limit
    if limit.refused:
        return f"not kept: {limit.refused} refused after {limit.requests}"
    kept = "kept" if limit.requests == limit.limit else "not kept"
    return f"{kept}: {limit.requests} requests of {limit.limit}"


def _time(part: Behaviour) -> str:
    limit = part.time_limit
    ended = "killed" if limit.killed else "ended by itself"
    return f"{limit.limit:g} s: {ended} after {limit.seconds:.2f} s"
