"""``python -m vendor_verifier.compare``."""

import sys

from trialbed_verifiers import compare_results

if __name__ == "__main__":
    sys.exit(compare_results())
