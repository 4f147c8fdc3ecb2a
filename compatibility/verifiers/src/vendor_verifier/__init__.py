"""Run vendor_verifier's commands under its own name."""
