"""The tables of the embedded world, one JSON file per table and one record per line."""
