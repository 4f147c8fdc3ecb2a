"""The executor ``ray`` runs the usual workers as actors on the nodes of a Ray cluster.

``RayExecutor`` runs in the engine, and does not import Ray. A separate program, the bridge, is Ray's driver: it
ends with its cluster, and takes no more with it than the trials that run at that time. On the nodes, each actor is one
place for trials, and runs them with the local executor.

Engine and bridge exchange JSON lines over the bridge's standard streams::

    {cpus, memory, places, address, setup}   →
                                             ←    {host}                    connected; this machine in the cluster
                                             ←    {opened, node}            a place can be used
    {call, place, method, arguments}         →
                                             ←    {answered, kind, text}    the class of the result or error, and it
                                             ←    {lost, reason}            the place was lost meanwhile
    {end}                                    →                              a place, by force
                                             ←    {gone, reason}            a place has ended; another one is made
"""
