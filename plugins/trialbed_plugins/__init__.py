"""First-party drivers and scorers, loaded through entry points as those of third parties are."""
