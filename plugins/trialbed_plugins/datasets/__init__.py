"""The embedded dataset, StableToolBench's test sets, and single files."""
