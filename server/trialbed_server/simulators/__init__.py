"""First-party simulators, each a driver of its own module."""
