"""The commands of the vendors' product: ``bench verify`` and ``bench rank``, and vendors in ``bench compare``."""
