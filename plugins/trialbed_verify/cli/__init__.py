"""The commands of the vendors' product: ``bench verify`` and ``rank``."""
