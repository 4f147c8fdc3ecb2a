"""``bench data``: lists, imports and shows datasets, imports responses, and exports runs in StableToolBench's form."""
