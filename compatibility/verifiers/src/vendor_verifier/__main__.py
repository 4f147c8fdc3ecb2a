"""``python -m vendor_verifier``."""

import sys

from trialbed_verifiers import verify_vendor

if __name__ == "__main__":
    sys.exit(verify_vendor())
