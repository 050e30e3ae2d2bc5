"""The bell that Celery workers hear: a message that says "queue X has work", nothing more.

Ringing is cheap to repeat and safe to lose. In a burst, one process rings a queue once in `WINDOW_SECONDS`;
work that arrives within the window is announced at its end. This keeps drains few: each costs at least a
millisecond. Where no worker listens, bells stop at about `WAITING_AT_MOST`, so that they do not fill the
broker.
"""

from __future__ import annotations

import atexit
import math
import os
import ssl
import threading
import time
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from celery import Celery
from kombu.exceptions import OperationalError

from remand.redact import redact_text
from remand_app.broker_queues import QueueType, own_queues
from remand_app.domain.addresses import TLS_FILES, TLS_SCHEMES, BrokerAddress, UrlInvalid, shown
from remand_app.domain.errors import BrokerUnreachable, ConfigInvalid, Problem
from remand_app.domain.queues import MAINTENANCE
from remand_app.telemetry import log
from remand_app.telemetry.metrics import BELLS
from remand_app.telemetry.metrics_buffer import count

WINDOW_SECONDS = 0.025
DENSE_SECONDS = 0.004
"""A ring that follows the previous one within this time belongs to a burst."""
WAITING_AT_MOST = 100
"""Bells of a queue that may lie in the broker unheard; each process may add `LOOK_EVERY` before it checks."""
LOOK_EVERY = 50
FULL_SECONDS = 1.0
"""How long a process that saw this many waits before it checks again."""
_SILENCE_SECONDS = 1.0
TIMEOUT_SECONDS = 2.0
"""Unless the settings say otherwise."""
RETRY_PREFIX = "retry."
_STEPS_TASK = "remand.drain"
_FAILURES_TASK = "remand.drain_failures"
_REDRIVE_TASK = "remand.sweep.redrive"
_ACQUIRE_SECONDS = 5.0
_ONE_MORE_TRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
_VERIFY = {"required": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}
_BROKER_DOWN = (OperationalError, ConnectionError, TimeoutError, OSError)


class CeleryBell:
    """Rings through a Celery app. Thread-safe; after a fork the child starts with nothing owed."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._asked: dict[str, float] = {}
        self._owed: set[str] = set()
        self._declared: set[str] = set()
        self._sent: dict[str, int] = {}
        self._full_until: dict[str, float] = {}
        self._timer: threading.Timer | None = None
        self._mute_until = 0.0
        # The transport's own errors are no OSErrors, and `publish` wraps them only when it connects.
        self._away = connection_errors(app)
        self._pid = os.getpid()
        atexit.register(self.flush)

    def ring(self, queues: Iterable[str]) -> None:
        """Ring each queue, at once or at the end of its window. Never raises."""
        now = time.monotonic()
        due = []
        with self._lock:
            self._start_afresh_after_fork()
            for queue in set(queues):
                dense = now - self._asked.get(queue, 0.0) < DENSE_SECONDS
                self._asked[queue] = now
                if dense and now - self._last.get(queue, 0.0) < WINDOW_SECONDS:
                    self._owe(queue)
                else:
                    self._last[queue] = now
                    due.append(queue)
        for queue in due:
            self._publish(queue)

    def flush(self) -> None:
        """Ring what is owed now; a program calls it before it exits."""
        with self._lock:
            self._start_afresh_after_fork()
            owed, self._owed = self._owed, set()
            self._timer = None
            now = time.monotonic()
            self._last.update(dict.fromkeys(owed, now))
        for queue in owed:
            self._publish(queue)

    def pending(self, queue: str) -> int:
        """Return how many bells of a queue lie in the broker; 0 when it cannot tell."""
        try:
            with self._app.connection_for_read() as connection:
                # The default channel keeps to the number of tries that `transport_options` sets.
                declared = connection.default_channel.queue_declare(queue, passive=True)
                return int(declared.message_count)
        except connection_errors(self._app):
            return 0

    def differing(self, queues: Iterable[str]) -> dict[str, str]:
        """Return which of these queues exist and differ from ours, and how; creates none.

        Raises:
            BrokerUnreachable: the broker does not answer.
        """
        self.check()
        found = {}
        with self._app.connection_for_write() as connection:
            for name in queues:
                if connection.transport.driver_type == "amqp" and _is_there(connection, name):
                    how = self._app.amqp.queues[name].difference(connection.connection)
                    if how is not None:
                        found[name] = how
        return found

    def check(self) -> None:
        """Make sure that the broker answers.

        Raises:
            BrokerUnreachable: it does not, within a few seconds.
        """
        connection = self._app.connection_for_write()
        try:
            connection.ensure_connection(max_retries=0)
        except connection_errors(self._app) as error:
            where = shown(self._app.conf.broker_write_url or "")
            raise BrokerUnreachable(
                f"the broker at {where} is not usable: {redact_text(str(error))}",
                hint="check REMAND_BROKER_URL and that the broker is up",
            ) from error
        finally:
            connection.release()

    def _owe(self, queue: str) -> None:
        self._owed.add(queue)
        if self._timer is None:
            self._timer = threading.Timer(WINDOW_SECONDS, self.flush)
            self._timer.daemon = True
            self._timer.start()

    def _publish(self, queue: str) -> None:
        if time.monotonic() < self._mute_until:
            count(BELLS, queue, "muted")
            return
        if time.monotonic() < self._full_until.get(queue, 0.0):
            count(BELLS, queue, "enough")
            return
        begun = time.monotonic()
        try:
            sent = self._send(queue)
            count(BELLS, queue, "sent" if sent else "enough")
        except self._away as error:
            # The work is committed: the ring sweep announces it once the broker is back. A try without an
            # answer costs a timeout, which most callers that ring meanwhile should not pay, too.
            now = time.monotonic()
            self._mute_until = now + max(_SILENCE_SECONDS, 2 * (now - begun))
            self._declared.clear()
            count(BELLS, queue, "failed")
            log("bell.failed", queue=queue, error=type(error).__name__)

    def _send(self, queue: str) -> bool:
        """Publish a Celery task message, protocol 2, with only the fields that a worker needs.

        `send_task` spends ten times as long on the rest, which for a bell is most of its cost. Returns False
        where enough bells lie in the broker.
        """
        with self._app.producer_pool.acquire(block=True, timeout=_ACQUIRE_SECONDS) as producer:
            if (
                self._sent.get(queue, 0) % LOOK_EVERY == 0
                and _lying(producer.connection, queue) >= WAITING_AT_MOST
            ):
                self._full_until[queue] = time.monotonic() + FULL_SECONDS
                return False
            task_id = str(uuid4())
            producer.publish(
                [[queue], {}, {}],
                exchange="",
                routing_key=queue,
                declare=[] if queue in self._declared else [self._app.amqp.queues[queue]],
                serializer="json",
                correlation_id=task_id,
                headers={
                    "lang": "py",
                    "task": _task_of(queue),
                    "id": task_id,
                    "root_id": task_id,
                    "argsrepr": f"('{queue}',)",
                    "kwargsrepr": "{}",
                    "ignore_result": True,
                },
                retry=False,
            )
        self._declared.add(queue)
        self._sent[queue] = self._sent.get(queue, 0) + 1
        return True

    def _start_afresh_after_fork(self) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._owed = set()
            self._timer = None


def _lying(connection: Any, queue: str) -> int:
    """Return how many bells of a queue lie in the broker."""
    # It connects as often as `transport_options` says; `channel` alone would not.
    _ = connection.default_channel
    # A channel of its own: RabbitMQ closes one that asks for a queue that is not there yet.
    channel = connection.channel()
    try:
        return int(channel.queue_declare(queue, passive=True).message_count)
    except connection.channel_errors:
        return 0
    finally:
        channel.close()


def _task_of(queue: str) -> str:
    if queue == MAINTENANCE:
        return _REDRIVE_TASK
    return _FAILURES_TASK if queue.startswith(RETRY_PREFIX) else _STEPS_TASK


def _is_there(connection: Any, queue: str) -> bool:
    try:
        with connection.channel() as channel:
            channel.queue_declare(queue, passive=True)
    except connection.channel_errors:
        return False
    return True


def bell_to(
    broker_url: str, queue_type: QueueType = "classic", timeout_seconds: float = TIMEOUT_SECONDS
) -> CeleryBell:
    """Return a bell for a program that is no worker: it only sends, and never waits long for a broker."""
    app = Celery("remand", set_as_current=False)
    told = broker_settings(broker_url, timeout_seconds)
    app.conf.update(told, task_serializer="json", task_ignore_result=True)
    own_queues(app, queue_type)
    return CeleryBell(app)


def broker_settings(broker_url: str | None, timeout_seconds: float = TIMEOUT_SECONDS) -> dict[str, Any]:
    """Return what Celery must be told to reach the broker: the one door to it, for workers and all others.

    `timeout_seconds`: for a connection, for a greeting, for an answer.

    Raises:
        ConfigInvalid: the setting is no URL of a broker. None is: then the servers are not known yet.
    """
    found = _addresses(broker_url) if broker_url is not None else ()
    url = ";".join(one.url() for one in found) or None
    told: dict[str, Any] = {
        # All three: a CELERY_BROKER_URL in the environment goes before the first alone.
        "broker_url": url,
        "broker_read_url": url,
        "broker_write_url": url,
        "broker_connection_timeout": timeout_seconds,
        "broker_transport_options": dict(_ONE_MORE_TRY),
    }
    for one in found[:1]:
        told["broker_transport_options"] = _transport_options(one, timeout_seconds)
        told["broker_use_ssl"] = tls_options(one)
        if "heartbeat" in one.options:
            told["broker_heartbeat"] = int(one.options["heartbeat"])
    return told


def _addresses(broker_url: str) -> tuple[BrokerAddress, ...]:
    try:
        return BrokerAddress.parse_all(broker_url)
    except UrlInvalid as error:
        raise ConfigInvalid([Problem(None, None, "broker_url", str(error), "SETTING_INVALID")]) from None


def _transport_options(address: BrokerAddress, timeout_seconds: float) -> dict[str, Any]:
    """Return what Celery must tell the broker's transport: one quick second try, limits for dead connections.

    Without the first, a caller waits seconds for a broker that is away, and again after each silence.
    """
    if not address.scheme.startswith("redis"):
        # Whole seconds are all that the socket's option knows here.
        whole = math.ceil(timeout_seconds)
        return {**_ONE_MORE_TRY, "read_timeout": whole, "write_timeout": whole}
    return {
        **_ONE_MORE_TRY,
        "visibility_timeout": 3600,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_keepalive": True,
        "socket_connect_timeout": timeout_seconds,
        "socket_timeout": timeout_seconds,
        "health_check_interval": 25,
        "global_keyprefix": address.options.get("global_keyprefix", ""),
    }


def tls_options(address: BrokerAddress) -> dict[str, Any] | None:
    """Return how the broker must prove its identity; None: it is reached without TLS.

    By default, both transports accept any certificate, or any name in it.
    """
    if address.scheme not in TLS_SCHEMES:
        return None
    files = {name: address.options[name] for name in TLS_FILES if name in address.options}
    verify = _VERIFY[address.options.get("ssl_cert_reqs", "required")]
    names = verify != ssl.CERT_NONE and address.options.get("ssl_check_hostname", "true") == "true"
    if address.scheme == "rediss":
        return {**files, "ssl_cert_reqs": verify, "ssl_check_hostname": names}
    told = {name.removeprefix("ssl_"): value for name, value in files.items()}
    # None: the transport fills in the host's name and compares it.
    return {**told, "cert_reqs": verify, **({"server_hostname": None} if names else {})}


def connection_errors(app: Celery) -> tuple[type[BaseException], ...]:
    """Return what the app's transport raises when the broker is away or a queue is not there."""
    connection = app.connection_for_read()
    return (*connection.connection_errors, *connection.channel_errors, *_BROKER_DOWN)
