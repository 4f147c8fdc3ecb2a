"""httpx without its own command, which nothing here uses: what that imports takes longer to import than httpx does."""

import sys

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

__all__ = ["httpx"]
