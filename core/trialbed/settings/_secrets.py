"""Recognise settings that are secret, and choose the variables that other programs get.

A variable is secret if its name looks like a key, token, password or credential, or if its value is a URL
that carries a password. Keys and tokens stay off command lines and go to no other host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from trialbed.settings._run import RunSettings

MIN_SECRET = 8
"""The shortest value to redact; shorter ones occur in ordinary text by chance."""

REDACTED = "[redacted]"

_NAME = re.compile(
    r"(?:^|_)(?:[A-Z0-9]*KEYS?(?:_ID)?|(?!TIKTOKEN)[A-Z0-9]*TOKENS?|[A-Z0-9]*SECRETS?|[A-Z0-9]*PASS(?:WORD|WD|PHRASE)?"
    r"|[A-Z0-9]*CRED(?:ENTIAL)?S?|AUTH|COOKIES?|PAT|DSN)[0-9]*(?:_|$)|[A-Z0-9]_PWD[0-9]*(?:_|$)"
)
_URL_WITH_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)


NAMED = "TRIALBED_PASS_ENV"
"""The variable that names more variables which agents and builds get, with commas between them."""

_PASSED = re.compile(
    # the user and the machine, the language, temporary files, certificates, proxies, Python, native libraries, models
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|HOSTNAME|SYSTEMROOT|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|XDG_\w+"
    r"|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|\w+_PROXY|PYTHON\w*|VIRTUAL_ENV|CONDA_PREFIX"
    r"|LD_\w+|DYLD_\w+|MALLOC_\w+|CUDA_\w+|NVIDIA_\w+|OMP_\w+|MKL_\w+|OPENBLAS_\w+|COVERAGE_\w+"
    r"|HF_HOME|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE|TIKTOKEN_CACHE_DIR|NLTK_DATA|TOKENIZERS_PARALLELISM",
    re.IGNORECASE,
)


def passed_variables(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables for programs that are not Trialbed's own, without secrets.

    Variables named in ``TRIALBED_PASS_ENV`` are passed in any case.

    Args:
        environment: default: this process's own.
    """
    variables = os.environ if environment is None else environment
    named = {name.strip() for name in variables.get(NAMED, "").split(",")}
    return {
        name: value
        for name, value in variables.items()
        if name in named or (_PASSED.fullmatch(name) and not is_secret(name, value))
    }


@lru_cache(maxsize=4096)
def is_secret(name: str, value: str = "") -> bool:
    """Return whether an environment variable of this name (and value) must be treated as a secret."""
    return _NAME.search(name.upper()) is not None or _URL_WITH_PASSWORD.match(value) is not None


def secret_values(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the values to redact, longest first, to redact a secret whole even if it contains another.

    Args:
        environment: default: this process's own.
    """
    variables = os.environ if environment is None else environment
    found = {value for name, value in variables.items() if len(value) >= MIN_SECRET and is_secret(name, value)}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


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
