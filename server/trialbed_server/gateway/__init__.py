"""The gateway: every model call of every framework, answered from a script or forwarded, and recorded."""
