"""Own the verbs: submit, run, fail, repair, sweep. Each decides with `app.domain` and moves with `app.store`.

Bells ring after the commit, never before. The engine must not know Celery, SQL, the command
line or where settings come from: `app.runtime` gives it a database, a bell, a clock and settings.
"""
