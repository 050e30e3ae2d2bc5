"""A worker's connection to the broker: whatever the broker answers, the worker waits and reconnects.

Celery's own consumer ends the worker on every error that comes over a working connection: a Redis that became
a replica (READONLY, UNBLOCKED), is full (OOM), or follows a master it cannot reach (MASTERDOWN). It also runs
every registered task, including those that `shared_task` of a user's module puts into every app.
"""

from __future__ import annotations

import time
from typing import Any

from celery import signals
from celery.exceptions import NotRegistered
from celery.utils.objects import Bunch
from celery.worker.consumer.consumer import logger
from celery.worker.state import maybe_shutdown
from redis.exceptions import RedisError

from remand.redact import redact_text
from remand_app.broker_queues import queue_arguments
from remand_app.domain.queues import advice
from remand_app.telemetry import log
from remand_workers.message_guard import Guarded

PREFIX = "remand."
"""The prefix of our tasks' names; our workers run nothing else."""
RESOURCE_LOCKED = 405
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
_WELL_SECONDS = 30.0
"""After this time without trouble, pauses start short again."""
_SLICE_SECONDS = 0.1


class Consumer(Guarded):
    """Celery's consumer, made to outlive its broker's troubles and to refuse other people's tasks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        refusals: tuple[type[BaseException], ...] = self.conninfo.channel_errors
        # With `broker_channel_error_retry` it reconnects after these errors, too.
        self.channel_errors = (*refusals, RedisError)
        self._pause = 0.0
        self._troubled_at = 0.0

    class Blueprint(Guarded.Blueprint):
        """Celery's parts except the one that declares queues for delayed messages, which we do not send."""

        default_steps = tuple(
            step for step in Guarded.Blueprint.default_steps if "delayed_delivery" not in step
        )

    def connect(self) -> Any:
        """Connect, and declare the queues before anybody listens to them."""
        conn = self.connection_for_read(heartbeat=self.amqheartbeat)
        try:
            self._settle_queues(conn)
        except BaseException:
            conn.release()
            raise
        if self.hub:
            conn.transport.register_with_event_loop(conn.connection, self.hub)
        return conn

    def ensure_connected(self, conn: Any) -> Any:
        """Connect, however long it takes; pauses stay short, because a worker is deaf during them."""
        connected = conn.ensure_connection(
            self._told,
            interval_start=FIRST_PAUSE_SECONDS,
            interval_step=FIRST_PAUSE_SECONDS,
            interval_max=LONGEST_PAUSE_SECONDS,
            callback=maybe_shutdown,
        )
        self.first_connection_attempt = False
        return connected

    def on_connection_error_before_connected(self, exc: BaseException) -> None:
        """Wait before the next try: the broker answered, and refused."""
        self._wait(exc)

    def on_connection_error_after_connected(self, exc: BaseException) -> None:
        """Close the connection, and wait before the next."""
        super().on_connection_error_after_connected(exc)
        self._wait(exc)

    def update_strategies(self) -> None:
        """Accept only our own tasks."""
        super().update_strategies()
        for name in [name for name in self.strategies if not name.startswith(PREFIX)]:
            del self.strategies[name]

    def on_unknown_task(self, _body: Any, message: Any, exc: BaseException) -> None:
        """Refuse an unknown task; a sender that waits for an answer gets the error.

        Celery's own method would also log the content of the message.
        """
        headers, properties = message.headers, message.properties
        name = str(headers.get("task"))
        log("message.refused", task=name[:200], queue=str(message.delivery_info.get("routing_key"))[:200])
        message.reject_log_error(logger, self.connection_errors)
        signals.task_unknown.send(sender=self, message=message, exc=exc, name=name, id=headers.get("id"))
        if isinstance(headers.get("id"), str) and isinstance(properties.get("reply_to"), str):
            asked = Bunch(
                name=name,
                chord=None,
                errbacks=None,
                root_id=headers.get("root_id"),
                correlation_id=properties.get("correlation_id"),
                reply_to=properties["reply_to"],
            )
            self.app.backend.mark_as_failure(headers["id"], NotRegistered(name), request=asked)

    def _settle_queues(self, conn: Any) -> None:
        """Declare our queues; use as it is a queue that another program declared differently."""
        if conn.transport.driver_type != "amqp":
            return
        queues = self.app.amqp.queues
        for queue in queues.consume_from.values():
            queue.no_declare, queue.queue_arguments = False, queues.new_missing(queue.name).queue_arguments
            how = queue.difference(conn.connection)
            if how is not None:
                queue.no_declare = True
                if "'quorum'" in how:
                    # Celery asks for features that quorum queues lack, unless it knows that a queue is one.
                    queue.queue_arguments = queue_arguments("quorum")
                log("queue.differs", queue=queue.name, message=how, advice=advice(queue.name))

    def _wait(self, error: BaseException) -> None:
        now = time.monotonic()
        calm = now - self._troubled_at > _WELL_SECONDS
        self._pause = FIRST_PAUSE_SECONDS if calm else min(self._pause * 2, LONGEST_PAUSE_SECONDS)
        self._told(error, self._pause)
        until = now + self._pause
        while time.monotonic() < until:
            maybe_shutdown()
            time.sleep(_SLICE_SECONDS)
        self._troubled_at = time.monotonic()

    def _told(self, error: BaseException, pause: float) -> None:
        message = redact_text(str(error))[:500]
        if getattr(error, "code", None) == RESOURCE_LOCKED and "pidbox" in message:
            message = f"another worker is called {self.hostname}: give one of them a --name; {message}"
        log(
            "broker.unusable",
            error=type(error).__name__,
            message=message,
            delay_seconds=round(pause, 1),
        )
