"""The service: durable workflows on Celery and Postgres. Three ideas carry everything in this package.

1. Postgres is the queue; Celery wakes the workers and runs them. A Celery message is never the step itself.
   It is a bell: it says "queue X has work". A drain claims due attempts, runs their handlers and settles
   their results. A bell may be lost, doubled or late: a sweep rings again, and a second claim finds nothing.
2. Decide, move, announce. A pure function decides from rows and an instant. One transaction moves the row by
   compare-and-set, and writes its history and every related change. Others are told only after the commit.
3. A failure becomes a value that is passed on. It is classified where it was raised, recorded with its
   attempt, and routed to the retry queue of its policy. The worker of that queue decides on a due instant or
   a dead letter. A success never takes this path.
"""


def __getattr__(name: str) -> str:
    # What is installed is read from its metadata, which costs more than many a command.
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - as above

        return version("remand")
    raise AttributeError(f"module 'remand_app' has no attribute {name!r}")
