"""The rows on the costs of a framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trialbed.views import TableRow
from trialbed_adapter_lab.fidelity import FrameworkFidelity, Load, LoadLevel
from trialbed_adapter_lab.fidelity.views._cells import line, memory, of, spread, times

Cell = Callable[[LoadLevel], str]


def process_rows(found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    """Yield the cost of the process itself."""
    parts = [one.load for one in found]
    yield line("start, s (n=1)", parts, lambda load: f"{load.start_seconds:.2f}")
    yield line("… of processor time, s", parts, lambda load: f"{load.start_cpu:.2f}")
    yield line("memory when loaded", parts, lambda load: memory(load.loaded_rss))
    yield line("memory at the end", parts, lambda load: memory(load.final_rss))


def level_rows(found: Sequence[FrameworkFidelity], concurrency: int) -> Iterator[TableRow]:
    """Yield time, processor, event loop and memory at one number of trials at a time."""
    levels = [_level(one.load, concurrency) for one in found]
    zero = levels[0]  # the reference's
    zero_ms, zero_cpu = (zero.framework_ms, zero.cpu_ms) if zero else (None, None)
    if any(level is not None and level.framework_ms is not None for level in levels):
        yield line("framework, ms per turn", levels, lambda level: spread(level.framework_ms))
        yield line("… times the reference's", levels, lambda level: times(level.framework_ms, zero_ms))
    yield line("CPU, ms per turn", levels, lambda level: spread(level.cpu_ms))
    yield line("… times the reference's", levels, lambda level: times(level.cpu_ms, zero_cpu))
    yield line("trials per s", levels, lambda level: spread(level.trials_per_second))
    yield line("loop blocked, max ms", levels, lambda level: spread(level.longest_lag_ms))
    yield line("loop blocked, p95 ms", levels, lambda level: spread(level.lag_p95_ms))
    yield line("threads", levels, lambda level: f"{level.threads}")
    yield line("peak memory so far", levels, lambda level: memory(level.peak_rss))
    if any(level is not None and level.failed for level in levels):
        yield line("trials that failed", levels, _failures, alarming=True)


def _failures(level: LoadLevel) -> str:
    return of(level.failed, level.trials * level.cpu_ms.n) if level.failed else "none"


def _level(part: Load | None, concurrency: int) -> LoadLevel | None:
    return next((level for level in part.levels if level.concurrency == concurrency), None) if part else None
