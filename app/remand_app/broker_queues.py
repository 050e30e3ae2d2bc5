"""How our queues are declared in the broker. Workers, beat and senders all use this module.

In RabbitMQ the first to declare a queue fixes its arguments; later declarations with other arguments are
refused. Bells do not depend on these arguments: a queue that another program declared is used as it is, and
the difference is reported.
"""

from __future__ import annotations

from typing import Any, Literal

from celery import Celery
from celery.app.amqp import AMQP, Queues
from kombu.entity import Queue
from kombu.transport import pyamqp

QueueType = Literal["classic", "quorum"]
PRECONDITION_FAILED = 406


class OwnQueue(Queue):
    """A queue of ours. It is no error if the queue already exists with other arguments."""

    no_declare: bool
    queue_arguments: dict[str, Any] | None

    def declare(self, nowait: bool = False, channel: Any = None) -> str:
        """Declare it, with its exchange; on RabbitMQ on a channel of its own, which a refusal closes."""
        channel = channel or self.channel
        if isinstance(channel, pyamqp.Channel):
            self.difference(channel.connection)
        else:
            super().declare(nowait=nowait, channel=channel)
        return str(self.name)

    def difference(self, connection: Any) -> str | None:
        """Declare it; return in RabbitMQ's words how the existing queue differs. None: it does not.

        `connection`: to RabbitMQ.
        """
        if self.no_declare:
            return None
        channel = connection.channel()
        try:
            super().declare(channel=channel)
        except pyamqp.Transport.channel_errors as error:
            if getattr(error, "code", None) != PRECONDITION_FAILED:
                raise
            return str(error).partition("PRECONDITION_FAILED - ")[2] or str(error)
        channel.close()
        return None


class _Queues(Queues):
    def add(self, queue: Any, **kwargs: Any) -> Any:
        if isinstance(queue, Queue) and not isinstance(queue, OwnQueue):
            given: Any = queue
            queue = OwnQueue(given.name, given.exchange, given.routing_key)
            queue.queue_arguments = given.queue_arguments
        return super().add(queue, **kwargs)


class OwnAMQP(AMQP):
    """Celery's, except that its queues are ours."""

    queues_cls = _Queues


def own_queues(app: Celery, kind: QueueType) -> None:
    """Let an app declare its queues as ours; on Redis queues have no kind."""
    app.amqp_cls = OwnAMQP
    app.conf.update(task_create_missing_queue_type=kind, task_default_queue_type=kind)


def queue_arguments(kind: QueueType) -> dict[str, Any] | None:
    """Return the arguments of a queue of that kind."""
    return None if kind == "classic" else {"x-queue-type": kind}
