"""The gateway: every model call of every framework, played from a script or forwarded, and recorded."""
