"""The service: durable workflows on Celery and Postgres. Three ideas carry everything in this package.

1. Postgres is the queue; Celery is the doorbell and the hands. A Celery message never *is* a step, it says
   "queue X has work". A drain claims due attempts, runs their handlers and settles their results. A bell may
   be lost, doubled or late: a sweep rings again, and a second claim finds nothing.
2. Decide, move, announce. A pure function decides from rows and an instant; one transaction moves the row, by
   compare-and-set, with its history and all that must be true with it; only after the commit is anyone told.
3. A failure ends as a value, and travels. It is classified where it was raised, recorded with its attempt,
   and routed to the queue of its policy, whose worker decides on a due instant or a dead letter. Success
   never goes that way.
"""


def __getattr__(name: str) -> str:
    # What is installed is read from its metadata, which costs more than many a command.
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - as above

        return version("remand")
    raise AttributeError(f"module 'app' has no attribute {name!r}")
