"""The variables with the keys of endpoints: a key goes to the host that it is for and to no other."""

from __future__ import annotations

from urllib.parse import urlsplit

from trialbed.settings._run import RunSettings

OPENAI = "api.openai.com"
OPENAI_KEY = "OPENAI_API_KEY"


def key_variable(settings: RunSettings, url: str) -> str:
    """The variable with the key of an endpoint that a model names; empty where none is named."""
    parts = urlsplit(url)
    known = dict(entry.partition("=")[::2] for entry in settings.endpoint_key_env)
    for place in (parts.netloc, parts.hostname or ""):
        if place in known:
            return known[place]
    if settings.base_url and urlsplit(settings.base_url).netloc == parts.netloc:
        return settings.api_key_env
    return OPENAI_KEY if parts.hostname == OPENAI else ""
