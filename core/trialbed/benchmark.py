"""The Python API for benchmarking an agent object."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from trialbed.api import refuse_running_loop, run_agents
from trialbed.drivers import list_drivers
from trialbed.engine import RunProgress, server_root
from trialbed.errors import UsageError
from trialbed.preparation import read_keywords
from trialbed.records import Query, TrialResult
from trialbed.report import Summary, legacy_document, reason_lines
from trialbed.scoring import JUDGED
from trialbed.suggestions import closest, did_you_mean
from trialbed.tasks import Task
from trialbed.views import printable
from trialbed.wire.addresses import is_loopback

log = logging.getLogger("trialbed")

OWN = (
    "frameworks",
    "commands",
    "judge",
    "profiles",
    "executor",
    "environments",
    "concurrency",
    "server_port",
    "server_url",
)
"""Settings that mean nothing for an agent object in this process, or have parameters of their own."""

MODEL_SELECTOR = "llm"
"""The selector that a model's name stands for."""

DEFAULT_SERVER = "http://localhost:8080/virtual"


def run_benchmark(
    agent: Any,
    test_set: str | Iterable[Task | Query] = "mini",
    max_queries: int | None = None,
    server_url: str = DEFAULT_SERVER,
    evaluator_model: str = "rule",
    agent_name: str = "agent",
    output_dir: str | Path | None = None,
    verbose: bool = False,
    *,
    use_tool_selector: bool = False,
    tool_selector_model: str = "bm25",
    max_tools: int = 120,
    use_colors: bool = True,
    **settings: Any,
) -> dict[str, Any]:
    """Benchmark a live agent object, write its result document and return it.

    The agent's requests to the server's ``/virtual`` and ``/v1`` are counted as the open trial's. If nothing answers at
    ``server_url`` and it is this machine, a server is started there for as long as the run lasts.

    Args:
        agent: anything with ``answer(query)``, which may be async, or a function; ``bind_tools(tools=…, server_url=…)``
            is called before each query if it exists.
        test_set: a dataset as ``--dataset`` takes it, a StableToolBench test set such as ``G1_instruction``, or queries
            or tasks.
        max_queries: how many queries at most, None for all.
        server_url: the server, with or without ``/virtual``.
        evaluator_model: ``rule``, or a judge model, which is asked at ``base_url``, by default at the address in
            ``OPENAI_BASE_URL`` or at OpenAI's.
        agent_name: names the agent in the results.
        output_dir: the folder of the result document, ``results/tools`` if None.
        verbose: whether each trial's outcome is written to stderr when it ends.
        use_tool_selector: whether ``tool_selector_model`` chooses the tools; otherwise they are the query's own.
        tool_selector_model: a selector's name, or a model's, which the selector ``llm`` asks at the judge model's
            address.
        max_tools: how many tools at most.
        use_colors: whether the output of ``verbose`` has colours, if stderr is a terminal.
        **settings: further fields of a run: ``model``, ``base_url``, ``repeat``, ``seed``, ``timeout``, ``max_steps``,
            ``store``, ``output``, ``judge_votes``, ``fresh`` …

    Returns:
        The result document. Why trials failed, or were not measured, is also logged as a warning of ``trialbed``.

    Raises:
        TrialbedError: nothing could be measured; says why.
    """
    given = {**locals()}
    refuse_running_loop("run_benchmark", "arun_benchmark")
    return asyncio.run(arun_benchmark(**given.pop("settings"), **given))


async def arun_benchmark(
    agent: Any,
    test_set: str | Iterable[Task | Query] = "mini",
    max_queries: int | None = None,
    server_url: str = DEFAULT_SERVER,
    evaluator_model: str = "rule",
    agent_name: str = "agent",
    output_dir: str | Path | None = None,
    verbose: bool = False,
    *,
    use_tool_selector: bool = False,
    tool_selector_model: str = "bm25",
    max_tools: int = 120,
    use_colors: bool = True,
    **settings: Any,
) -> dict[str, Any]:
    """``run_benchmark`` for async callers."""
    if isinstance(agent, str):
        raise UsageError(f"run_benchmark: {agent!r} is a name, not an agent object; use evaluate({agent!r}, …)")
    given = settings if output_dir is None else {**settings, "output": output_dir}
    tasks = _dataset_name(test_set) if isinstance(test_set, str) else test_set
    numbers = tuple(max_tools) if isinstance(max_tools, (list, tuple)) else (max_tools,)
    chosen: dict[str, Any] = {"limit": max_queries, "max_tools": numbers, "concurrency": 1}
    chosen |= read_keywords(given, run_benchmark, OWN)
    for name in ("model", "temperature", "max_tools"):
        if isinstance(chosen.get(name), tuple) and len(chosen[name]) != 1:
            raise UsageError(f"run_benchmark: {name}: give one value; evaluate() compares several")
    chosen |= await _server(server_url)
    if use_tool_selector:
        chosen |= _selector(tool_selector_model)
    report = await run_agents(
        {agent_name: agent},
        tasks,
        settings=chosen,
        judge=evaluator_model,
        progress=_Written(use_colors=use_colors) if verbose else RunProgress(),
        ambient=True,
        documents=True,
    )
    (summary,) = report.frameworks
    _log_failures(summary)
    return await asyncio.to_thread(legacy_document, report, summary.framework)


def _log_failures(summary: Summary) -> None:
    """Warn of failed and unmeasured trials, because callers of a library see no table."""
    for line in reason_lines(summary):
        log.warning("%s: %s", summary.framework, line)
    if summary.incomplete:
        log.warning(
            "%s: the run is incomplete: %d trials were not measured; repeat the call to run them",
            summary.framework,
            summary.counts.not_measured,
        )


class _Written(RunProgress):
    """Progress as a line per trial; colours are left out if stderr is not a terminal."""

    def __init__(self, *, use_colors: bool) -> None:
        super().__init__()
        self._use_colors = use_colors

    def advance(self, result: TrialResult) -> None:
        failure = result.outcome.failure
        judged = result.score(JUDGED)
        ended = f"{failure.kind}: {failure.message}" if failure else (judged.label if judged else None) or result.status
        line = printable(f"task {result.key.query_id}: {ended}, {result.outcome.wall_time:.1f} s")
        if self._use_colors and "NO_COLOR" not in os.environ:
            line = click.style(line, fg="red" if failure else "green" if judged and judged.value == 1 else "yellow")
        click.echo(line, err=True)


async def _server(url: str) -> dict[str, Any]:
    if await _is_there(url):
        return {"server_url": server_root(url)}
    parts = urlsplit(url)
    if not is_loopback(parts.hostname or ""):
        raise UsageError(f"nothing answers at {url}; start a server there with `bench serve`")
    return {"server_port": parts.port or 80}


async def _is_there(url: str) -> bool:
    """Return whether anything answers HTTP at this URL's server."""
    import aiohttp  # it takes long to import

    limit = aiohttp.ClientTimeout(total=5)
    try:
        async with aiohttp.ClientSession(timeout=limit) as session, session.get(f"{server_root(url)}/healthz"):
            return True
    except (aiohttp.ClientError, TimeoutError):
        return False


def _dataset_name(test_set: str) -> str:
    """Return the dataset of a test set, which is its own name or file, or StableToolBench's."""
    name = test_set.partition(":")[0]
    if name in {driver.name for driver in list_drivers("datasets")} or test_set.endswith(".json"):
        return test_set
    return f"stabletoolbench:{test_set}"


def _selector(name: str) -> dict[str, str]:
    """Return the settings of a selector, or of ``llm`` with a model of this name.

    Raises:
        UsageError: it looks like a misspelt selector.
    """
    names = [driver.name for driver in list_drivers("selectors")]
    if name in names:
        return {"selector": name}
    close = closest(name, names, cutoff=0.75)
    if close:
        raise UsageError(f"tool_selector_model: there is no selector {name!r}{did_you_mean(close)}")
    return {"selector": MODEL_SELECTOR, "selector_model": name}
