"""Tools in files, imported from a program, an API or a server. Calls are answered by schema, by a model or for real.

forms      the format of such files
located    YAML and JSON with the line of each key
documents  the tools in OpenAPI documents and in definitions; ``schemas`` makes their schemas
imports    writes files of tools from documents and servers
worlds     the APIs of such a file and the answers to calls, which ``live`` requests and stores
http, servers    connections to live tools
secrets    keys of live tools
command    ``bench tools``
"""
