"""First-party drivers and scorers, loaded through entry points like third-party ones."""
