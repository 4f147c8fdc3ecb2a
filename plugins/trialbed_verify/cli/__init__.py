"""The commands of the vendors' product: ``bench verify``, ``plan-verify``, ``rank`` and ``history``."""
