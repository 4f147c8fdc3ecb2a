"""Programs that put a worker into its sandbox and then become it.

Each is a file that needs nothing but the standard library, and is run with ``python -I -S FILE``: no package of an
environment, and no ``.pth`` file or ``sitecustomize`` that one brings, is loaded before the sandbox holds.
"""
