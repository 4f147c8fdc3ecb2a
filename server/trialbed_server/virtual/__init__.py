"""The virtual API speaks StableToolBench's protocol, and answers from a cache and by simulators."""
