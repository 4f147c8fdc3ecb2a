"""Environment variables with keys and tokens, which stay off command lines and go to no other host."""

from __future__ import annotations

from urllib.parse import urlsplit

from trialbed.settings._run import RunSettings

OPENAI = "api.openai.com"
OPENAI_KEY = "OPENAI_API_KEY"

SERVER_TOKEN = "TRIALBED_SERVER_TOKEN"  # noqa: S105 - the name of a variable, as below
"""The token that the clients of a server send, which its user chooses."""

CONTROL_TOKEN = "TRIALBED_CONTROL_TOKEN"  # noqa: S105
"""The engine's token to control the server of its run."""

UPSTREAM_KEY = "TRIALBED_UPSTREAM_KEY"
UPSTREAM_KEYS = "TRIALBED_UPSTREAM_KEYS"
"""The keys of the models' endpoint and of further endpoints, in a JSON object by address."""

SIMULATOR_KEY = "TRIALBED_SIMULATOR_KEY"
REAL_KEY = "TRIALBED_REAL_KEY"
"""The keys of the simulators' own endpoint, and of that which calls real APIs."""


def key_variable(settings: RunSettings, url: str) -> str:
    """Return the name of the variable with an endpoint's key, or an empty text."""
    parts = urlsplit(url)
    known = dict(entry.partition("=")[::2] for entry in settings.endpoint_key_env)
    for place in (parts.netloc, parts.hostname or ""):
        if place in known:
            return known[place]
    if settings.base_url and urlsplit(settings.base_url).netloc == parts.netloc:
        return settings.api_key_env
    return OPENAI_KEY if parts.hostname == OPENAI else ""
