"""The servers that HTTP clients of workers ask themselves where there is a proxy."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1,localhost,::1"

NAMES = ("NO_PROXY", "no_proxy")


def without_proxy(variables: Mapping[str, str], hosts: str) -> dict[str, str]:
    """Return the variables that name the hosts which no proxy is asked for, with more of them.

    Hosts are not named for nothing: a client of httpx takes half as long again to be made then. Where there may be no
    proxy, this is empty.
    """
    # Elsewhere than on Linux, the system may name a proxy, too.
    if sys.platform == "linux" and not any(name.lower().endswith("_proxy") for name in variables):
        return {}
    return {name: ",".join(filter(None, (variables.get(name, ""), hosts))) for name in NAMES}


def ask_directly(server_url: str) -> None:
    """Have the clients that this process makes from now on ask the server itself, as proxies must see no token."""
    host = urlsplit(server_url).hostname
    if host and not all(host in os.environ.get(name, "").split(",") for name in NAMES):
        os.environ.update(without_proxy(os.environ, host))
