"""Machines that run trials, in the place of this process: `waza.engine.backend` says what one is.

`TYPES` is the table of backends, so that listing them imports nothing. Packages add others by the entry point group
`waza.backends`.
"""

TYPES = {"dask": "waza.backends.dask:DaskBackend"}
