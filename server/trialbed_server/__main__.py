"""``python -m trialbed_server``: the server as a process."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from trialbed.errors import TrialbedError
from trialbed_server._options import options_from


def main(argv: Sequence[str] | None = None) -> int:
    """Run the server until a signal ends it; returns the exit code."""
    try:
        options = options_from(argv)
        from trialbed_server._process import serve

        serve(options)
    except TrialbedError as error:
        print(f"trialbed_server: {error}", file=sys.stderr)  # noqa: T201 - why the start failed
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
