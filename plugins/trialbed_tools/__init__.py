"""Tools in files: made of the definitions that a program, an API or a server has, and answered by schema or for real.

forms      the form of such files
located    YAML and JSON with the line of each key
documents  the tools of OpenAPI documents and of definitions; their schemas are made in ``schemas``
imports    files of the tools of documents and servers
worlds     the Apis of such a file, and the answers to their calls, which ``live`` gets and keeps
http, servers    how live tools are reached
secrets    keys of live tools
command    ``bench tools``
"""
