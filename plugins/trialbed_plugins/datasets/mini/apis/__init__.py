"""The APIs of the embedded world, one JSON file per category."""
