"""``python -m trialbed.wire.mcp URL``."""

from __future__ import annotations

import argparse
import asyncio
import os

from trialbed.wire.mcp import serve_stdio

VARIABLE = "TRIALBED_MCP_URL"


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(
        prog="python -m trialbed.wire.mcp",
        description="Offer a trial's tools to a client that speaks MCP over standard input and output.",
    )
    parser.add_argument(
        "url", nargs="?", default=os.environ.get(VARIABLE), help=f"the trial's MCP URL; default: {VARIABLE}"
    )
    url = parser.parse_args().url
    if not url:
        parser.error(f"the trial's URL is missing; give it, or set {VARIABLE}")
    asyncio.run(serve_stdio(url))


if __name__ == "__main__":
    main()
