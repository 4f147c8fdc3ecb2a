"""The command line of ``python -m trialbed_server``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trialbed.errors import TrialbedError
from trialbed_server._options import MEBIBYTE, TOKEN_VARIABLE, UPSTREAM_KEY_VARIABLE, ServerOptions, secrets_from


def main(argv: Sequence[str] | None = None) -> int:
    """Run the server until it is told to end; the exit code."""
    try:
        options = options_from(argv)
        from trialbed_server._process import serve

        serve(options)
    except TrialbedError as error:
        print(f"trialbed_server: {error}", file=sys.stderr)  # noqa: T201 - the words of a failed start
        return error.exit_code
    return 0


def options_from(argv: Sequence[str] | None) -> ServerOptions:
    """The options on this command line, with the secrets of the environment."""
    arguments: dict[str, Any] = vars(_parser().parse_args(argv))
    arguments["datasets"] = tuple(arguments["datasets"])
    arguments["max_body"] = int(arguments["max_body"] * MEBIBYTE)
    arguments["memory"] = int(arguments["memory"] * MEBIBYTE)
    arguments.update(secrets_from(os.environ))
    return ServerOptions(**arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trialbed_server",
        description="Serve the virtual API and the gateway to models. Prints one line of JSON when it listens.",
        epilog=f"Environment: {UPSTREAM_KEY_VARIABLE} is the upstream's key; {TOKEN_VARIABLE} the token that "
        "clients must send, required beyond loopback.",
    )
    defaults = ServerOptions()
    add = parser.add_argument
    add("--host", default=defaults.host)
    add("--port", type=int, default=defaults.port, help="0 takes a free one")
    add("--cache", metavar="FILE", default=defaults.cache, help="response cache: a file or a database URL")
    add("--upstream", metavar="URL", help="the OpenAI-compatible endpoint that models are reached at")
    add("--dataset", metavar="NAME[:TEST_SET]", dest="datasets", action="append", default=[])
    add("--data-dir", metavar="DIR", type=Path, help="folder of imported datasets")
    add("--simulator", metavar="NAME", help="answers for Apis when there is no trial")
    add("--watch-stdin", action="store_true", help="end when standard input does")
    add("--max-body", metavar="MIB", type=float, default=defaults.max_body / MEBIBYTE)
    add("--memory", metavar="MIB", type=float, default=defaults.memory / MEBIBYTE, help="for cached responses")
    add("--simulator-timeout", metavar="SECONDS", type=float, default=defaults.simulator_timeout)
    add("--upstream-timeout", metavar="SECONDS", type=float, default=defaults.upstream_timeout)
    return parser
