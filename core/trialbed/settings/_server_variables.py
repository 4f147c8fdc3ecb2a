"""The environment variables from which a server reads its keys and tokens: none stands on a command line."""

from __future__ import annotations

SERVER_TOKEN = "TRIALBED_SERVER_TOKEN"  # noqa: S105 - the name of a variable, as below
"""The token that the clients of a server send, which its user chooses."""

CONTROL_TOKEN = "TRIALBED_CONTROL_TOKEN"  # noqa: S105
"""The token with which the engine controls the server of its run."""

UPSTREAM_KEY = "TRIALBED_UPSTREAM_KEY"
UPSTREAM_KEYS = "TRIALBED_UPSTREAM_KEYS"
"""The key of the models' endpoint, and those of further ones: a JSON object by address."""

SIMULATOR_KEY = "TRIALBED_SIMULATOR_KEY"
REAL_KEY = "TRIALBED_REAL_KEY"
"""The keys of the simulators' own endpoint, and of that which calls real Apis."""
