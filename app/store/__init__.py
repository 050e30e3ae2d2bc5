"""Own all SQL: statements, functions, tables, connections. Rows go in and come out as frozen values.

What must hold together is one function or one transaction here; when to call it is the engine's affair. Must
not decide on policies, ring, read settings or know Celery.
"""
