"""The server of Trialbed: the virtual API, the gateway to models, and the control of trials.

The public names are loaded when they are first used, so that ``import trialbed_server`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed_server._app import create_app
    from trialbed_server._options import ServerOptions
    from trialbed_server._process import serve
    from trialbed_server.cache_import import import_cache
    from trialbed_server.faults import FaultScript, serve_faults

_HOMES = {
    "_app": ("create_app",),
    "_options": ("ServerOptions",),
    "_process": ("serve",),
    "cache_import": ("import_cache",),
    "faults": ("FaultScript", "serve_faults"),
}

__all__ = ["FaultScript", "ServerOptions", "create_app", "import_cache", "serve", "serve_faults"]

__getattr__, __dir__ = _lazy.names(__name__, _HOMES)
