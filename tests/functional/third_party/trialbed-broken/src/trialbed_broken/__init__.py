"""Each module here is wrong in one way."""
