"""The virtual API: StableToolBench's protocol, answered from a cache and by simulators."""
