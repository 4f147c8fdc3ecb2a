"""What was measured, with what."""

from __future__ import annotations

from datetime import UTC
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from trialbed.records import FrameworkInfo, Run
from trialbed.run_settings import document_settings


def metadata(run: Run, framework: str) -> dict[str, Any]:
    """The document's ``metadata``. Times are seconds; ``timestamp`` is when the run began, in UTC."""
    config = run.config
    return {
        "agent_name": framework,
        "test_set": config.test_set,
        "num_queries": len(config.query_ids),
        "server_url": run.server_url,
        "timestamp": run.created_at.astimezone(UTC).isoformat(),
        "overall_time": run.overall_time,
        "run_id": run.run_id,
        "config_digest": run.config_digest,
        "trialbed_version": config.trialbed_version,
        **_framework(run, framework),
        **document_settings(config),
        "base_url": _without_login(config.base_url),
        "dataset_digest": config.dataset_digest,
        "environment_digest": run.environment_digest,
    }


def _framework(run: Run, name: str) -> dict[str, Any]:
    info: FrameworkInfo | None = next((info for info in run.frameworks if info.name == name), None)
    deviations = [deviation.text for deviation in info.deviations] if info else []
    return {
        "framework": name,
        "framework_version": info.version if info else None,
        "adapter": info.adapter if info else None,
        "adapter_version": info.adapter_version if info else None,
        "python": info.python if info else None,
        "packages": list(info.packages) if info else [],
        "lock_digest": (info.lock_digest or None) if info else None,
        "deviations": deviations,
        "capabilities": deviations,
    }


def _without_login(url: str | None) -> str | None:
    if url is None:
        return None
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
