"""The executor ``ray``: the same workers, as actors on the nodes of a Ray cluster.

``RayExecutor`` runs in the engine, and imports nothing of Ray. A program beside it, the bridge, is Ray's driver: it
ends with its cluster, and takes no more with it than the trials that run at that time. On the nodes, each actor is one
place for trials, and runs them with the local executor.
"""
