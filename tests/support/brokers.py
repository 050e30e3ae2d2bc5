"""A clean broker for one test: a Redis database, or a RabbitMQ vhost, that no other test process uses."""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import kombu
import redis

LAST_REDIS_DATABASE = 15
_VHOSTS = itertools.count(1)
QUEUES = (
    "steps",
    "retry.exponential",
    "retry.linear",
    "retry.immediate",
    "retry.never",
    "remand.maintenance",
    "remand.commands",
)


def rabbitmq_url() -> str:
    """Return where a RabbitMQ for tests answers, "" for nowhere."""
    url = os.environ.get("REMAND_TEST_BROKER_URL") or "amqp://guest:guest@127.0.0.1:5672//"
    if not url.startswith("amqp"):
        url = "amqp://guest:guest@127.0.0.1:5672//"
    connection = kombu.Connection(url, connect_timeout=2)
    try:
        connection.ensure_connection(max_retries=1, timeout=2)
    except (OSError, kombu.exceptions.OperationalError):
        return ""
    finally:
        connection.release()
    return url


@contextmanager
def clean_broker(url: str, worker: int) -> Iterator[str]:
    """Yield the URL of an empty broker for test process number `worker`, empty again afterwards.

    On Redis that is a database that nobody uses: one that holds anything is never touched.
    """
    if url.startswith("redis"):
        with _redis(url, worker) as mine:
            yield mine
    else:
        with _rabbitmq(url, worker) as mine:
            yield mine


def bells_in(url: str, queue: str) -> int:
    """Return how many messages lie in a queue; none in one that nobody has declared yet."""
    with kombu.Connection(url) as connection:
        try:
            return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
        except connection.channel_errors:
            return 0


@contextmanager
def _redis(url: str, worker: int) -> Iterator[str]:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    for number in range(LAST_REDIS_DATABASE - worker, 0, -workers):
        mine = urlunsplit(urlsplit(url)._replace(path=f"/{number}"))
        with redis.Redis.from_url(mine) as client:
            if client.dbsize() == 0:
                yield mine
                client.flushdb()
                return
    raise AssertionError(f"every Redis database that test process {worker} may use is in use")


@contextmanager
def _rabbitmq(url: str, worker: int) -> Iterator[str]:
    vhost = f"remand-test-{os.getpid()}-{worker}-{next(_VHOSTS)}"
    user = urlsplit(url).username or "guest"
    if _rabbitmqctl("add_vhost", vhost) and _rabbitmqctl(
        "set_permissions", "-p", vhost, user, ".*", ".*", ".*"
    ):
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{vhost}"))
        finally:
            _rabbitmqctl("delete_vhost", vhost)
        return
    with (Path(tempfile.gettempdir()) / "remand-test-rabbitmq.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        delete_queues(url)
        yield url
        delete_queues(url)


def _rabbitmqctl(*arguments: str) -> bool:
    program = shutil.which("rabbitmqctl")
    if program is None:
        return False
    return subprocess.run([program, "-q", *arguments], capture_output=True, check=False).returncode == 0


def delete_queues(url: str, names: Iterable[str] = QUEUES) -> None:
    """Delete queues, with what lies in them."""
    with kombu.Connection(url) as connection:
        for name in names:
            with connection.channel() as channel:
                channel.queue_delete(name)
