"""httpx without its own command, which nothing here uses: what that imports takes longer to import than httpx does."""

import ssl
import sys
from functools import lru_cache

COMMAND = "httpx._main"
"""The module that httpx leaves out where the packages of its command (click, rich, pygments) are not installed."""

if "httpx" in sys.modules:
    import httpx
else:
    sys.modules[COMMAND] = None  # type: ignore[assignment] # an import of it is an ImportError, as Python documents
    try:
        import httpx
    finally:
        del sys.modules[COMMAND]

__all__ = ["httpx", "tls_for"]


def tls_for(url: str) -> ssl.SSLContext | bool:
    """The ``verify`` argument for an HTTP client (httpx) that talks to this URL.

    Loading the system's certificates takes longer than a whole tool call. For a URL without TLS it is a context that
    has none and trusts no certificate. All such clients of a process share it, as it takes longer to make than the rest
    of a client; leave it as it is.
    """
    return _no_certificates() if url.startswith("http://") else True


@lru_cache(maxsize=1)
def _no_certificates() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
