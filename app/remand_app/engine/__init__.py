"""The verbs: submit, run, fail, repair, sweep. Each decides with the domain and moves with the store.

Bells ring after the commit, never before. The engine must not know Celery, SQL, the command
line or where settings come from: `remand_app.runtime` gives it a database, a bell, a clock and settings.
"""
