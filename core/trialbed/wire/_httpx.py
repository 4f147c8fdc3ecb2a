"""httpx without its command line, which nothing here uses and which takes longer to import than httpx itself."""

import ssl
import sys
from functools import lru_cache

COMMAND = "httpx._main"
"""The module that httpx leaves out if the packages of its command (click, rich, pygments) are not installed."""

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
    """Return the ``verify`` argument for an HTTP client (httpx) that talks to this URL.

    Loading the system's certificates takes longer than a whole tool call. A URL without TLS gets a context without
    certificates, which trusts no certificate. All such clients of a process share it, because it takes longer to make
    than the rest of a client; do not change it.
    """
    return _no_certificates() if url.startswith("http://") else True


@lru_cache(maxsize=1)
def _no_certificates() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
