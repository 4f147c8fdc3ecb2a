"""``python -m trialbed``."""

import sys

from trialbed.cli import main

if __name__ == "__main__":
    sys.exit(main())
