"""Submit and follow workflows from any Celery app: the verbs of the service, called by task name.

It needs only a broker that both sides reach: answers come back over it (`rpc://`), whatever result backend
the app itself has. The client makes a workflow's id, so a submit may be repeated if its answer was lost.
"""

from __future__ import annotations

import math
import os
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from uuid import UUID

from celery import Celery
from celery.backends.rpc import RPCBackend
from celery.exceptions import TaskRevokedError, Terminated, WorkerLostError
from celery.exceptions import TimeoutError as CeleryTimeout
from celery.result import task_join_will_block
from kombu.common import maybe_declare
from kombu.entity import Queue
from kombu.exceptions import OperationalError

from remand.errors import RemandError
from remand.redact import redact_text

QUEUE = "remand.commands"
_POLL_FIRST_SECONDS = 0.05
_POLL_LONGEST_SECONDS = 1.0
_CHUNK = 500
_ONE_MORE_TRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
_AS_IT_IS: Final = object()
_UNDONE: Final = (WorkerLostError, Terminated, TaskRevokedError)
"""Errors that Celery sends in the worker's place: whether the worker did what was asked is not known."""


class NoAnswer(RemandError):
    """Nobody answered in time: is the broker up, and a worker on queue `remand.commands` that uses it?"""

    code: ClassVar[str] = "NO_ANSWER"
    exit_code: ClassVar[int] = 3


class WaitTimedOut(NoAnswer):
    """What was waited for had not come about when the wait ended; nothing is wrong with it."""

    code: ClassVar[str] = "WAIT_TIMED_OUT"
    exit_code: ClassVar[int] = 1


class Refused(RemandError):
    """The service refused; `code` is its code."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error["message"]), hint=str(error["hint"]), details=error["details"])
        self.code = str(error["code"])  # type: ignore[misc]  # each refusal brings its own


class Replies(RPCBackend):
    """Celery's `rpc://`, but with one more try only: Celery's waits for ever for a broker that is away."""

    def on_task_call(self, producer: Any, task_id: str) -> None:  # noqa: ARG002 - Celery's signature
        """Declare the queue of replies before a task is sent."""
        if not task_join_will_block():
            maybe_declare(self.binding(producer.channel), retry=True, **_ONE_MORE_TRY)


class _Own(threading.local):
    """What each thread has of its own, like Celery's backend: the connection on which it calls."""

    connection: Any = None
    pid: int = 0


@dataclass(frozen=True, slots=True)
class Submission:
    """What a submit answered; `created` is False when the workflow was there already."""

    workflow_id: str
    created: bool


class Client:
    """The service as seen from a Celery app.

        client = Client(celery_app)
        order = client.submit("payments/order", {"order_id": "A-1"})
        client.wait(order.workflow_id, timeout=60)

    Every call raises `NoAnswer` when nobody answers within `timeout` seconds, and `Refused` with the
    service's code when it says no. A `wait` that runs out raises `WaitTimedOut`, which is a `NoAnswer`, too.
    """

    def __init__(
        self,
        app: Celery,
        *,
        timeout: float = 10.0,
        queue: str = QUEUE,
        by: str | None = None,
        token: str | None = None,
    ) -> None:
        """`token`: one of `remand token create`; default: REMAND_TOKEN, else none.

        `by`: who is recorded, marked as claimed, where no token says it; default: the app's name.
        """
        broker_url = app.conf.broker_write_url or app.conf.broker_url
        self._app = Celery(f"{app.main or 'app'}.remand", set_as_current=False)
        # Not `backend` and `broker`: those give way to CELERY_… variables in the environment.
        self._app.backend_cls = "remand.client:Replies"
        self._app.conf.update(
            broker_read_url=broker_url,
            broker_write_url=broker_url,
            broker_connection_timeout=timeout / 4,
            broker_transport_options={**_bounds(timeout / 4), **app.conf.broker_transport_options},
            task_publish_retry_policy=_ONE_MORE_TRY,
            broker_use_ssl=app.conf.broker_use_ssl,
            task_serializer="json",
            accept_content=["json"],
            result_serializer="json",
        )
        transport = self._app.connection_for_write()
        self._broken = (OperationalError, *transport.connection_errors)
        self._timeout = timeout
        self._own = _Own()
        # The service's workers declare it with the right arguments: the first to declare decides for all.
        self._queue = Queue(queue, no_declare=True)
        self._is_there = transport.transport.driver_type != "amqp"
        self._by = by or app.main or "celery"
        self._headers = _headers(os.environ.get("REMAND_TOKEN", "") if token is None else token)

    def submit(
        self,
        template: str,
        input: Any = None,  # noqa: A002 - the word that everybody uses for it
        *,
        key: str | None = None,
        priority: int | None = None,
        workflow_id: str | None = None,
        tags: Iterable[str] = (),
    ) -> Submission:
        """Submit one workflow of "namespace/name[:version]".

        Idempotent: by `workflow_id` (made here unless given; `NoAnswer.details` carries it), by `key`, and by
        the template's identity strategy.
        """
        wanted = workflow_id or str(new_id())
        answer = self._call(
            "remand.submit",
            {
                "template": template,
                "input": input,
                "key": key,
                "priority": priority,
                "id": wanted,
                "tags": list(tags),
                "by": self._by,
            },
            workflow_id=wanted,
        )
        return Submission(answer["workflow_id"], answer["created"])

    def submit_many(self, template: str, inputs: Iterable[Any]) -> list[Submission]:
        """Submit one workflow for each input, 500 a message; one answer each, in order."""
        requests = [{"input": value, "id": str(new_id())} for value in inputs]
        answers: list[Submission] = []
        for start in range(0, len(requests), _CHUNK):
            chunk = requests[start : start + _CHUNK]
            made = self._call("remand.submit_many", {"template": template, "requests": chunk, "by": self._by})
            answers += [Submission(workflow["workflow_id"], workflow["created"]) for workflow in made]
        return answers

    def get(self, workflow_id: str, *, steps: bool = False) -> dict[str, Any]:
        """Return a workflow's state, with its steps and their results if asked."""
        answer: dict[str, Any] = self._call("remand.get", {"workflow_id": workflow_id, "steps": steps})
        return answer

    def wait(self, workflow_id: str, *, timeout: float = 300.0) -> dict[str, Any]:
        """Return the workflow with its steps once it has ended or needs a person.

        Raises:
            WaitTimedOut: it is still under way after `timeout` seconds; `details` holds its state.
            NoAnswer: nobody answered; its state is not known.
        """
        until = time.monotonic() + timeout
        pause = _POLL_FIRST_SECONDS
        while True:
            workflow = self.get(workflow_id, steps=True)
            if workflow["is_final"] or workflow["needs_person"]:
                return workflow
            if time.monotonic() + pause > until:
                raise WaitTimedOut(
                    f"workflow {workflow_id} is still {workflow['state']} after {timeout:g} s",
                    hint="it goes on: wait again, or for longer",
                    details={"under_way": {workflow_id: workflow["state"]}},
                )
            time.sleep(pause)
            pause = min(pause * 1.5, _POLL_LONGEST_SECONDS)

    def cancel(self, workflow_id: str, *, reason: str | None = None) -> dict[str, Any]:
        """Cancel a workflow. Idempotent."""
        answer: dict[str, Any] = self._call(
            "remand.cancel", {"workflow_id": workflow_id, "reason": reason, "by": self._by}
        )
        return answer

    def pause(self, workflow_id: str, *, reason: str | None = None) -> dict[str, Any]:
        """Hold a workflow: it starts no further step. Idempotent."""
        return self._decide("remand.pause", reason, workflow_id=workflow_id)

    def resume(self, workflow_id: str, *, reason: str | None = None) -> dict[str, Any]:
        """Let a paused workflow go on. Idempotent."""
        return self._decide("remand.resume", reason, workflow_id=workflow_id)

    def pause_template(self, template: str, *, reason: str | None = None) -> dict[str, Any]:
        """Hold all workflows of "namespace/name", those still to be submitted, too. Idempotent."""
        return self._decide("remand.pause_template", reason, template=template)

    def resume_template(self, template: str, *, reason: str | None = None) -> dict[str, Any]:
        """Let the workflows of a paused template go on. Idempotent."""
        return self._decide("remand.resume_template", reason, template=template)

    def retry(
        self,
        workflow_id: str,
        step: str,
        *,
        input: Any = _AS_IT_IS,  # noqa: A002 - as in submit
        queue: str | None = None,
        priority: int | None = None,
        reason: str | None = None,
    ) -> dict[str, Any]:
        """Run a failed step again; a waiting one at once. Input, queue and priority stay where none is given.

        None is an input (null); left out, the step keeps the one it has.
        """
        # Older workers, for which null was no input, do not know this argument: it is sent only where needed.
        changed_input = {} if input is _AS_IT_IS else {"input": input}
        null = {"has_input": True} if input is None else {}
        place = {"queue": queue, "priority": priority}
        return self._decide(
            "remand.retry", reason, workflow_id=workflow_id, step=step, **place, **changed_input, **null
        )

    def resolve(self, workflow_id: str, step: str, *, reason: str | None = None) -> dict[str, Any]:
        """Declare a step done by hand, without a result."""
        return self._decide("remand.resolve", reason, workflow_id=workflow_id, step=step)

    def complete(
        self, workflow_id: str, step: str, result: Any, *, reason: str | None = None
    ) -> dict[str, Any]:
        """Complete a step by hand with a result."""
        return self._decide("remand.complete", reason, workflow_id=workflow_id, step=step, result=result)

    def skip(self, workflow_id: str, step: str, *, reason: str | None = None) -> dict[str, Any]:
        """End a step and what is behind it alone, without results."""
        return self._decide("remand.skip", reason, workflow_id=workflow_id, step=step)

    def restart(self, workflow_id: str, step: str, *, reason: str | None = None) -> dict[str, Any]:
        """Run a step and everything behind it anew."""
        return self._decide("remand.restart", reason, workflow_id=workflow_id, step=step)

    def requeue(self, letter: str, *, reason: str | None = None) -> dict[str, Any]:
        """Send the failed steps of a dead letter's workflow back to work; a workflow's id will do."""
        return self._decide("remand.requeue", reason, letter=letter)

    def _decide(self, name: str, reason: str | None, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._call(name, {**arguments, "reason": reason, "by": self._by})
        return answer

    def _call(self, name: str, arguments: dict[str, Any], **details: Any) -> Any:
        until = time.monotonic() + self._timeout
        try:
            self._find_queue(until)
            result = self._app.send_task(
                name,
                kwargs=arguments,
                queue=self._queue,
                expires=self._timeout,
                headers=self._headers,
                connection=self._connection(),
            )
            answer = result.get(timeout=max(0.1, until - time.monotonic()), disable_sync_subtasks=False)
        except CeleryTimeout:
            self._listen_anew()
            raise NoAnswer(
                f"{name} got no answer within {self._timeout:g} s",
                hint=f"start a worker on queue {self._queue.name} that uses this broker",
                details=details,
            ) from None
        except _UNDONE as error:
            raise NoAnswer(
                f"{name} got no answer: the process that had it ended, or it came too late: {error}",
                hint="whether it was done is not known: repeat it with the same id or key",
                details=details,
            ) from error
        except self._broken as error:
            self._listen_anew()
            raise NoAnswer(
                f"{name} got no answer, the broker is not usable: {redact_text(str(error))}",
                hint="whether the call arrived is not known: repeat it with the same id or key",
                details=details,
            ) from error
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["ok"]

    def _connection(self) -> Any:
        if self._own.connection is None or self._own.pid != os.getpid():
            # A forked child must not use its parent's connection.
            self._own.connection, self._own.pid = self._app.connection_for_write(), os.getpid()
        return self._own.connection

    def _listen_anew(self) -> None:
        """Let the next call open new connections: these may be dead or silent without an error.

        Celery keeps the connection for answers for good, even when it is closed.
        """
        self._app.backend.result_consumer.on_after_fork()
        connection, self._own.connection = self._own.connection, None
        if connection is not None:
            connection.collect()

    def _find_queue(self, until: float) -> None:
        """Wait until a first worker has declared the queue: RabbitMQ drops messages that it has no queue for.

        Raises Celery's TimeoutError when there is none in time.
        """
        while not self._is_there:
            try:
                with self._app.connection_for_write() as connection:
                    connection.default_channel.queue_declare(self._queue.name, passive=True)
                self._is_there = True
            except connection.channel_errors:
                if time.monotonic() > until:
                    raise CeleryTimeout from None
                time.sleep(_POLL_FIRST_SECONDS)


def _headers(token: str) -> dict[str, str]:
    # A header, not an argument: senders' events and Flower show arguments.
    return {"remand_token": token.strip()} if token.strip() else {}


def _bounds(seconds: float) -> dict[str, Any]:
    """Return how long the transports wait for a broker that does not answer: for Redis, and for RabbitMQ."""
    whole = math.ceil(seconds)
    return {
        **_ONE_MORE_TRY,
        "socket_connect_timeout": seconds,
        "socket_timeout": seconds,
        "read_timeout": whole,
        "write_timeout": whole,
    }


def new_id() -> UUID:
    """Return a new UUIDv7 (RFC 9562): milliseconds, then randomness."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | secrets.randbits(80)
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    return UUID(int=(value & ~(0x3 << 62)) | (0x2 << 62))
