"""A distribution of its own that adds to Trialbed through its public names only."""
