"""The metadata of a run and one of its frameworks, for documents and comparisons."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from trialbed.records import FrameworkInfo, HelperUse, Run, RunConfig, framework_profile
from trialbed.settings import document_settings
from trialbed.wire.redaction import shown_url


def metadata(run: Run, framework: str) -> dict[str, Any]:
    """Return the document's ``metadata``. Times are seconds; ``timestamp`` is when the run began, in UTC."""
    config, prices = run.config.of(framework), run.prices_of(framework)
    return {
        "agent_name": framework,
        "test_set": config.test_set,
        "num_queries": len(config.query_ids),
        "server_url": run.server_url,
        "timestamp": run.created_at.astimezone(UTC).isoformat(),
        "overall_time": run.overall_time,
        "run_id": run.run_id,
        "status": run.status,
        "config_digest": run.config_digest,
        "trialbed_version": config.trialbed_version,
        **_framework(run, framework),
        **shown_settings(config),
        "judge": dict(run.judge) or None,
        **({} if prices is None else {"prices": prices.model_dump()}),
        **({"helpers": list(map(_helper, run.helpers))} if run.helpers else {}),
        **({"lost_trials": dict(sorted(run.lost.items()))} if run.lost else {}),
        "dataset_digest": config.dataset_digest,
        "catalog": list(config.catalog),
        "catalog_digest": config.catalog_digest,
        "catalog_apis": config.catalog_apis,
        "environment_digest": run.environment_digest,
        **({"plugin_files": config.plugin_files} if config.plugin_files else {}),
    }


def shown_settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings of a run's identity under their keys in documents, as they may be shown."""
    return {
        **document_settings(config),
        "model_name": config.told_model,
        "base_url": None if config.base_url is None else shown_url(config.base_url),
    }


def _helper(use: HelperUse) -> dict[str, Any]:
    return {
        "role": use.role,
        "model": use.model,
        "requests": use.requests,
        "cached": use.cached,
        "unreported": use.unreported,
        "prompt_tokens": use.usage.prompt_tokens,
        "completion_tokens": use.usage.completion_tokens,
        **({} if use.cost is None else {"cost": use.cost}),
    }


def framework_info(run: Run, name: str) -> FrameworkInfo | None:
    """Return a framework as the workers of a run found it; None where none has begun."""
    return next((info for info in run.frameworks if info.name == name), None)


def _framework(run: Run, name: str) -> dict[str, Any]:
    info = framework_info(run, name)
    deviations = [deviation.text for deviation in info.deviations] if info else []
    return {
        "framework": name,
        "profile": framework_profile(name) if name in run.config.adapter_versions else None,
        "command": run.config.command(name),
        "framework_version": info.version if info else None,
        "adapter": info.adapter if info else None,
        "adapter_version": info.adapter_version if info else None,
        "python": info.python if info else None,
        "packages": list(info.packages) if info else [],
        "lock_digest": (info.lock_digest or None) if info else None,
        "sandbox_mechanisms": list(info.sandbox) if info else [],
        "deviations": deviations,
    }
