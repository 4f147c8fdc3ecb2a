"""The commands of the vendors' product: ``bench verify``, ``plan-verify`` and ``rank``."""
