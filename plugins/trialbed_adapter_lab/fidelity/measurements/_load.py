"""The costs of a framework with a model that answers at once: time, processor, memory, event loop delays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from trialbed.records import Environment, Limits, Record, WireLog
from trialbed.wire_log import compute_timing
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.measurements._figures import Figure, figure
from trialbed_adapter_lab.fidelity.probe import Measured, Probe, open_probe
from trialbed_adapter_lab.harness import Scenario, WorkerHarness, stations

CALLS = 3
LIMITS = Limits(max_steps=8, timeout=120.0)
FEWEST = 8
"""The least number of trials in a round; otherwise two for each that runs at a time."""


class LoadLevel(Record):
    """The figures at one number of trials at a time; each is over rounds.

    Attributes:
        trials: of one round. ``turns``: model requests of all rounds. ``failed``: trials of all rounds that did not
            end with an answer; ``reason`` is why the first of them did not.
        trials_per_second: over whole rounds.
        cpu_ms: milliseconds of processor time of the process, per turn.
        framework_ms: milliseconds per turn outside of the model and the tools. None for several trials at a time: they
            wait for each other, which says nothing about a framework.
        longest_lag_ms: the longest delay of the event loop. ``lag_p95_ms``: the 95th percentile.
        threads: the most threads seen.
        peak_rss: the most bytes resident since the process began, None if the system does not report it.
    """

    concurrency: int
    trials: int
    turns: int
    failed: int
    reason: str = ""
    trials_per_second: Figure
    cpu_ms: Figure
    framework_ms: Figure | None
    longest_lag_ms: Figure
    lag_p95_ms: Figure
    threads: int
    peak_rss: int | None


class Load(Record):
    """The costs of a framework.

    Attributes:
        tools: tools on offer in each trial. ``calls``: tool calls of each, one per turn; an answer follows.
        start_seconds: from starting an interpreter to having the adapter loaded, once. ``start_cpu``: processor time.
        loaded_rss: bytes resident when the adapter was loaded. ``final_rss``: after the last round.
    """

    tools: int
    calls: int
    start_seconds: float
    start_cpu: float
    loaded_rss: int
    final_rss: int
    levels: tuple[LoadLevel, ...]


OnStep = Callable[[str], None]


async def measure_load(
    harness: WorkerHarness,
    frameworks: Sequence[str],
    environments: Mapping[str, Environment],
    *,
    tools: int,
    rounds: int,
    concurrencies: Sequence[int],
    on_step: OnStep,
) -> dict[str, Load | NotMeasured]:
    """Measure all frameworks, alternating round by round, so that changes on the machine affect all alike.

    The first round of each level is a warm-up and does not count.
    """
    scenario = stations(tools, CALLS, limits=LIMITS)
    async with AsyncExitStack() as stack:
        series: dict[str, _Series] = {}
        failed: dict[str, NotMeasured] = {}
        for framework in frameworks:
            on_step(f"load: starting {framework}")
            try:
                probe = await stack.enter_async_context(open_probe(framework, environments.get(framework)))
                series[framework] = _Series(replace(harness, framework=framework), scenario, probe)
            except NotMeasured as reason:
                failed[framework] = reason
        for concurrency in concurrencies:
            on_step(f"load: {concurrency} at a time")
            for number in range(rounds + 1):
                for framework, one in [*series.items()]:
                    try:
                        await one.round(concurrency, counted=number > 0)
                    except NotMeasured as reason:
                        failed[framework] = NotMeasured(f"{concurrency} at a time: {reason}")
                        del series[framework]
        return {**failed, **{framework: one.load() for framework, one in series.items()}}


class _Series:
    """One framework's probe and its rounds."""

    def __init__(self, harness: WorkerHarness, scenario: Scenario, probe: Probe) -> None:
        self._harness = harness
        self._scenario = scenario
        self._probe = probe
        self._rounds: dict[int, list[_MeasuredRound]] = {}
        self._final_rss = probe.loaded.rss

    async def round(self, concurrency: int, *, counted: bool) -> None:
        """Run one round."""
        specs = [self._harness.spec(self._scenario) for _ in range(max(FEWEST, 2 * concurrency))]
        for spec in specs:
            await self._harness.open(spec, self._scenario)
        try:
            measured = await self._probe.round(specs, concurrency)
        finally:
            logs = {spec.trial: await self._harness.close(spec) for spec in specs}
        self._final_rss = measured.rss
        if counted:
            self._rounds.setdefault(concurrency, []).append(_MeasuredRound(measured, logs))

    def load(self) -> Load:
        """Return the figures of all rounds."""
        return Load(
            tools=len(self._scenario.tools),
            calls=CALLS,
            start_seconds=self._probe.start,
            start_cpu=self._probe.loaded.cpu,
            loaded_rss=self._probe.loaded.rss,
            final_rss=self._final_rss,
            levels=tuple(_level(concurrency, rounds) for concurrency, rounds in self._rounds.items()),
        )


class _MeasuredRound:
    """One round: the probe's own figures, and the server's log."""

    def __init__(self, measured: Measured, logs: Mapping[str, WireLog]) -> None:
        self.measured = measured
        self.turns = sum(len(log.model_calls) for log in logs.values())
        self.failures = [run.failure for run in measured.trials if run.failure]
        self._logs = logs
        if not self.turns:
            raise NotMeasured(next(iter(self.failures), "no request reached the model"))

    def framework_ms(self) -> float:
        """Return the framework's own milliseconds per turn."""
        own = sum(compute_timing(run.seconds, self._logs[run.trial]).framework for run in self.measured.trials)
        return own * 1000 / self.turns


def _level(concurrency: int, rounds: Sequence[_MeasuredRound]) -> LoadLevel:
    failures = [failure for one in rounds for failure in one.failures]
    peaks = [one.measured.peak_rss for one in rounds if one.measured.peak_rss is not None]
    return LoadLevel(
        concurrency=concurrency,
        trials=len(rounds[0].measured.trials),
        turns=sum(one.turns for one in rounds),
        failed=len(failures),
        reason=failures[0] if failures else "",
        trials_per_second=_figure([len(one.measured.trials) / one.measured.wall for one in rounds]),
        cpu_ms=_figure([one.measured.cpu * 1000 / one.turns for one in rounds]),
        framework_ms=_figure([one.framework_ms() for one in rounds]) if concurrency == 1 else None,
        longest_lag_ms=_figure([one.measured.longest_lag * 1000 for one in rounds]),
        lag_p95_ms=_figure([one.measured.lag_p95 * 1000 for one in rounds]),
        threads=max(one.measured.threads for one in rounds),
        peak_rss=max(peaks, default=None),
    )


def _figure(values: Sequence[float]) -> Figure:
    found = figure(values)
    assert found is not None  # noqa: S101 - there is at least one round
    return found
