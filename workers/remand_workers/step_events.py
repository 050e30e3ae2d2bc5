"""Steps as tasks in Flower: Celery's own task events, made by the drain, many to a message.

Name = handler, id = workflow:step:attempt, args the same three; no input, no result, no error message. Events
are for display only: those that the broker refuses, or that are too many, are dropped. The truth is in
Postgres.
Source: E4; Celery's `EventReceiver` takes lists of events.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from celery import Celery
from celery.events import get_exchange
from kombu.exceptions import OperationalError

from remand_app.store.claims import Claim
from remand_app.telemetry import log

INTERVAL_SECONDS = 0.5
"""Between two messages; an attempt that runs longer is shown as started."""
KEPT = 20_000
A_MESSAGE = 1000

_quoted = lru_cache(4096)(json.dumps)


class Shown(NamedTuple):
    """An attempt as it is shown; the rest of the claim is not kept."""

    workflow_id: object
    step: str
    attempt: int
    handler: str
    started: float


class Told(NamedTuple):
    """What an event says of an attempt."""

    shown: Shown
    kind: str
    at: float
    error_class: str | None


class StepEvents:
    """The audience of one process. A thread sends what has gathered; the drain only appends to a queue."""

    def __init__(self, app: Celery, hostname: Callable[[], str]) -> None:
        """`hostname`: returns the node name Flower knows the worker by; asked by the thread."""
        self._app = app
        self._hostname = hostname
        self._events: deque[Told] = deque(maxlen=KEPT)
        self._running: Shown | None = None
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, claim: Claim) -> None:
        """Note what runs now."""
        self._running = Shown(claim.workflow_id, claim.step, claim.attempt, claim.handler, time.time())
        if not self._wanted.is_set():
            self._wake()

    def end(self, error_class: str | None) -> None:
        """Note how it ended; sent within half a second."""
        shown, self._running = self._running, None
        if shown is not None:
            kind = "task-succeeded" if error_class is None else "task-failed"
            self._events.append(Told(shown, kind, time.time(), error_class))

    def _wake(self) -> None:
        if self._thread is None:
            # Made by the first step, so never before the fork.
            self._thread = threading.Thread(target=self._send_for_ever, name="step-events", daemon=True)
            self._thread.start()
        self._wanted.set()

    def _send_for_ever(self) -> None:
        announced: Shown | None = None
        while self._wanted.wait():
            time.sleep(INTERVAL_SECONDS)
            self._wanted.clear()
            running = self._running
            if running is not None:
                self._wanted.set()
                if running is not announced and time.time() - running.started >= INTERVAL_SECONDS:
                    announced = running
                    self._events.append(Told(running, "task-started", running.started, None))
            try:
                self._flush()
            except (OperationalError, OSError) as error:
                self._events.clear()
                log("step_events.dropped", error=type(error).__name__)

    def _flush(self) -> None:
        common = f'"hostname":{_quoted(self._hostname())},"pid":{os.getpid()},"utcoffset":0'
        while self._events:
            batch = [self._events.popleft() for _ in range(min(A_MESSAGE, len(self._events)))]
            events = (_event(event, common, self._app.clock.forward()) for event in batch)
            with self._app.producer_or_acquire() as producer:
                exchange = get_exchange(producer.connection, self._app.conf.event_exchange)
                producer.publish(
                    f"[{','.join(events)}]",
                    exchange=exchange.name,
                    routing_key="task.multi",
                    declare=[exchange],
                    content_type="application/json",
                    content_encoding="utf-8",
                    delivery_mode="transient",
                    retry=False,
                )


def _event(event: Told, common: str, clock: int) -> str:
    """Return the JSON text of an event; put together by hand, for thousands a second."""
    shown, at = event.shown, event.at
    workflow_id, step = str(shown.workflow_id), shown.step
    failed = "" if event.error_class is None else f'"exception":{json.dumps(event.error_class)},'
    return (
        f'{{"type":"{event.kind}","uuid":{json.dumps(f"{workflow_id}:{step}:{shown.attempt}")},'
        f'"name":{_quoted(shown.handler)},"args":{json.dumps(repr((workflow_id, step, shown.attempt)))},'
        f'"kwargs":"{{}}","retries":{shown.attempt - 1},"received":{shown.started},"started":{shown.started},'
        f'"runtime":{at - shown.started},"timestamp":{at},{failed}"clock":{clock},{common}}}'
    )
