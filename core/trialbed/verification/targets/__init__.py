"""What the user asks for: models at vendors, how their requests are made, and how many are sent at a time.

From options or a configuration file to targets: addresses, keys and proxies, the drivers of vendors and models, and the
request that a line of the test set becomes. All of it is checked before anything is sent, and nothing here sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed.verification.targets._drivers import load_adapter, load_vendor
    from trialbed.verification.targets._endpoints import Proxy
    from trialbed.verification.targets._keys import would_be_committed
    from trialbed.verification.targets._options import VerifyOptions
    from trialbed.verification.targets._planning import config_targets, endpoint_target
    from trialbed.verification.targets._preparation import RequestSettings
    from trialbed.verification.targets._targets import Target

_HOMES = {
    "_drivers": ("load_adapter", "load_vendor"),
    "_endpoints": ("Proxy",),
    "_keys": ("would_be_committed",),
    "_options": ("VerifyOptions",),
    "_planning": ("config_targets", "endpoint_target"),
    "_preparation": ("RequestSettings",),
    "_targets": ("Target",),
}

__all__ = [
    "Proxy",
    "RequestSettings",
    "Target",
    "VerifyOptions",
    "config_targets",
    "endpoint_target",
    "load_adapter",
    "load_vendor",
    "would_be_committed",
]

__getattr__, __dir__ = _lazy.names(__name__, _HOMES)
