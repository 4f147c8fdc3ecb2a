"""First-party datasets: the embedded one, StableToolBench's test sets, and single files."""
