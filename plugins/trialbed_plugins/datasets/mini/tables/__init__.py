"""The tables of the embedded world: one JSON file a table, one record a line."""
