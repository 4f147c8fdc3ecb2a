"""The server of Trialbed: the virtual API, the gateway to models, and the control of trials.

The public names are loaded when they are first used, so that ``import trialbed_server`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trialbed_server._app import create_app
    from trialbed_server._options import ServerOptions
    from trialbed_server._process import serve
    from trialbed_server.cache_import import import_cache
    from trialbed_server.faults import FaultScript, serve_faults

_HOMES = {
    "FaultScript": "faults",
    "ServerOptions": "_options",
    "create_app": "_app",
    "import_cache": "cache_import",
    "serve": "_process",
    "serve_faults": "faults",
}

__all__ = ["FaultScript", "ServerOptions", "create_app", "import_cache", "serve", "serve_faults"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trialbed_server' has no attribute {name!r}")
    return getattr(import_module(f"trialbed_server.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
