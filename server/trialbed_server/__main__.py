"""``python -m trialbed_server``: the server as a process."""

from __future__ import annotations

import sys

from trialbed_server._arguments import main

if __name__ == "__main__":
    sys.exit(main())
