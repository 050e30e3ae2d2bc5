"""Own the verbs: submit, run, fail, repair, sweep. Each decides with `app.domain` and moves with `app.store`.

Bells ring after the commit, never before. Must not know Celery, SQL, the command line or where settings come
from: it gets a database, a bell, a clock and settings from `app.runtime`.
"""
