"""The Apis of the embedded world: one JSON file a category."""
