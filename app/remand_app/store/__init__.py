"""Own all SQL: statements, functions, tables, connections. Rows go in and come out as frozen values.

Changes that belong together are one function or one transaction here; the engine decides when to call it.
Must not decide on policies, ring, read settings or know Celery.
"""
