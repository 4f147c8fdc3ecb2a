"""The gateway answers every framework's model calls from a script, or forwards them, and records them."""
