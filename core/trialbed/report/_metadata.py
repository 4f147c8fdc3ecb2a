"""The facts above a run's figures, with metadata, the title, and injected faults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any

from trialbed.records import FrameworkInfo, HelperUse, Run, framework_profile, labels_in_words, read_fault_plan
from trialbed.report._files import clean
from trialbed.settings import declared_settings
from trialbed.store import TrialTable
from trialbed.texts import number_of, percent
from trialbed.wire.addresses import short_address
from trialbed.wire.redaction import shown_url

OPTIONAL = ("prices", "helpers", "lost_trials", "plugin_files")
"""Keys that metadata have only if there is something to say."""


def legacy_metadata(run: Run, framework: str, trials: TrialTable) -> dict[str, Any]:
    """Return the document's ``metadata``. Times are seconds; ``timestamp`` is when the run began, in UTC.

    Args:
        trials: the framework's trials that count.
    """
    config, prices, info = run.config, run.prices_of(framework), framework_info(run, framework)
    plain, own = config.cell(framework).framework, config.settings(framework)
    found = {
        "agent_name": framework,
        "test_set": config.test_set,
        "num_queries": len(config.query_ids),
        "server_url": run.server_url,
        "timestamp": run.created_at.astimezone(UTC).isoformat(),
        **{name: getattr(run, name) for name in ("overall_time", "run_id", "status", "config_digest")},
        "trialbed_version": config.trialbed_version,
        "framework": framework,
        "profile": framework_profile(plain) if plain in config.adapter_versions else None,
        "command": run.config.command(framework),
        "framework_version": info and info.version,
        **{name: getattr(info, name, None) for name in ("adapter", "adapter_version", "python")},
        "packages": list(info.packages) if info else [],
        "lock_digest": (info.lock_digest or None) if info else None,
        "sandbox_mechanisms": list(info.sandbox) if info else [],
        "deviations": [deviation.text for deviation in info.deviations] if info else [],
        # The settings of the run's identity, as they may be shown.
        **{item.document: own[item.name] for item in declared_settings() if item.document},
        "model_name": config.cell(framework).told_model,
        "base_url": None if config.base_url is None else shown_url(config.base_url),
        "judge": dict(run.judge) or None,
        "prices": None if prices is None else prices.model_dump(),
        "helpers": list(map(_helper, run.helpers)),
        "lost_trials": dict(sorted(run.lost.items())),
        **{name: getattr(config, name) for name in ("dataset_digest", "catalog", "catalog_digest", "catalog_apis")},
        "environment_digest": run.environment_digest,
        "plugin_files": config.plugin_files,
    }
    if trials.answered.any() and not trials["requests"].any():
        found["model"] = None  # the agent asked one of its own, if any
    return {key: clean(value, ()) for key, value in found.items() if value or key not in OPTIONAL}


def _helper(use: HelperUse) -> dict[str, Any]:
    found = use.model_dump(include={"role", "model", "requests", "cached", "unreported", "cost"}, exclude_none=True)
    return found | use.usage.model_dump(include={"prompt_tokens", "completion_tokens"})


TOLD_BY_NAME = ("frameworks", "commands", "dataset", "repeat")
"""Settings with separate lines."""


def run_settings(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the settings of a run's identity by name if they are set."""
    config, versions = run.config, {info.name: info.version for info in run.frameworks}
    yield "frameworks", ", ".join(f"{name} {versions.get(name, '')}".strip() for name in config.frameworks)
    yield from (("program", text) for text in config.commands)
    times = f" x {config.repeat}" if config.repeat > 1 else ""
    queries = number_of(len(config.query_ids), "task", "tasks") + times
    yield "dataset", f"{config.named_dataset} ({config.test_set}), {queries}, sha256 {config.dataset_digest[:12]}"
    for name, value in config.settings(config.frameworks[0]).items():
        if name == "base_url" and value is not None:
            value = shown_url(value)
        elif name == "model":
            value = ", ".join(map(short_address, config.models))
        elif isinstance(value, str):
            value = short_address(value)
        elif isinstance(value, bool):
            value = "yes" if value else None
        if name not in TOLD_BY_NAME and value not in (None, (), ""):
            yield name.replace("_", " "), str(value)
    yield "trialbed", config.trialbed_version


def framework_info(run: Run, name: str) -> FrameworkInfo | None:
    """Return a framework's description from a run's workers; None before one has begun."""
    return next((info for info in run.frameworks if info.name == name), None)


def fault_note(plan: str | None) -> str:
    """Return a note on a run's injected faults and their frequency, or an empty text."""
    found = fault_words(plan) if plan is not None else ""
    return f"Faults were put in on purpose: {found}" if found else ""


def fault_words(plan: str) -> str:
    """Return which faults a plan injects, and how often; empty if it injects nothing."""
    read = read_fault_plan(plan)
    return "; ".join(
        f"{percent(part.rate)} of the {of} ({', '.join(part.faults).replace('_', ' ')})"
        for part, of in ((read.tools, "calls of tools"), (read.model, "requests to the model"))
        if part is not None and part.rate and part.faults
    )


FILE = re.compile(r"^([a-z][\w.+-]*:)?(?:~|\.{0,2}|[A-Za-z]:)[/\\](?:.*[/\\])?(?=[^/\\]+$)")
"""The folders of a model that is a file, after its scheme."""

NAMED = 3
"""The most subjects that a title names."""


def run_title(run: Run) -> str:
    """Return the setups or the endpoints, the models and the queries of a run in words."""
    config = run.config
    names = config.frameworks
    subjects = "endpoints" if run.kind == "endpoints" else "setups"
    compared = in_words(names) if len(names) <= NAMED else f"{len(names)} {subjects}"
    queries = number_of(len(config.query_ids), "task", "tasks")
    # Of a verification, that is the baseline's number: others may have fewer.
    most = "up to " if run.kind == "endpoints" else ""
    times = f", {most}{config.repeat} times each" if config.repeat > 1 else ""
    kind = "Verification: " if run.kind == "endpoints" else ""
    faults = ", with injected faults" if fault_note(config.faults) else ""
    models = [FILE.sub(r"\1…/", model) for model in config.models]
    shown = in_words(models if len({*models}) == len(models) else config.models)
    tools = sorted({cell.max_tools for cell in config.cells})
    offered = f", with {in_words(list(map(str, tools)))} tools" if len(tools) > 1 else ""
    title = f"{kind}{compared} with {shown} on {queries}{times} ({config.test_set}){offered}{faults}"
    return labels_in_words(title)


def in_words(names: Sequence[str]) -> str:
    """Return names as a list in a sentence."""
    *first, last = names or ("nothing",)
    return f"{', '.join(first)} and {last}" if first else last
