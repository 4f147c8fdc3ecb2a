"""Run the server as a process with ``python -m trialbed_server OPTIONS``; the options are JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from trialbed.errors import TrialbedError


def main(argv: Sequence[str]) -> int:
    """Run the server until a signal ends it; returns the exit code.

    Args:
        argv: a JSON object by the names of ``ServerOptions``; nothing for all defaults.
    """
    try:
        from trialbed_server._options import options_from
        from trialbed_server._process import serve

        serve(options_from(" ".join(argv) or "{}"))
    except TrialbedError as error:
        print(f"trialbed_server: {error}", file=sys.stderr)  # noqa: T201 - why the start failed
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
