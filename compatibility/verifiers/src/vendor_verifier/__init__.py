"""The name under which vendor_verifier's commands are run."""
