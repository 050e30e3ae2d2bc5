"""Kinds of fault: what each does to a site, how long it lasts, and what it must have to itself meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil
import psycopg2
import psycopg2.errors

from tests.chaos.site import ChaosSite
from tests.support.link import DOWN, UP, Link
from tests.support.own_servers import OwnBroker, OwnPostgres, OwnRabbit

STEP_WORKERS = ("one", "two")
Undo = Callable[[], None]


@dataclass(slots=True)
class Ground:
    """What faults work on; a server that is not ours is None, and only the network to it breaks."""

    site: ChaosSite
    rng: random.Random
    to_postgres: Link
    to_broker: Link
    postgres: OwnPostgres | None = None
    broker: OwnBroker | OwnRabbit | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault; `begin` returns what ends it, or None where there is nothing to end."""

    name: str
    begin: Callable[[Ground], Undo | None]
    on: tuple[str, ...]
    """It takes one of these, which no other fault has at the time."""
    seconds: tuple[float, float] = (0.0, 0.0)
    needs: str = ""
    """Field of the ground without which there is no such fault."""


def kinds_on(ground: Ground) -> list[Kind]:
    """Return the kinds that are possible."""
    return [kind for kind in KINDS if not kind.needs or getattr(ground, kind.needs) is not None]


@dataclass(slots=True)
class Current:
    """The fault that is being begun: which process it takes."""

    taken: str = ""


_current = Current()


@contextlib.contextmanager
def taking(name: str) -> Iterator[None]:
    """Begin a fault of this process."""
    _current.taken = name
    yield
    _current.taken = ""


# Processes.


def _signal_main(number: signal.Signals) -> Callable[[Ground], None]:
    def begin(ground: Ground) -> None:
        ground.site.signal(_current.taken, number)

    return begin


def _signal_group(number: signal.Signals) -> Callable[[Ground], None]:
    def begin(ground: Ground) -> None:
        ground.site.signal(_current.taken, number, group=True)

    return begin


def _signal_child(number: signal.Signals) -> Callable[[Ground], None]:
    def begin(ground: Ground) -> None:
        pid = _some_child(ground)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    return begin


def _some_child(ground: Ground) -> int:
    with contextlib.suppress(psutil.NoSuchProcess):
        pids = ground.site.children(_current.taken)
        return ground.rng.choice(pids) if pids else 0
    return 0


def _freeze(ground: Ground) -> Undo:
    name = _current.taken
    ground.site.signal(name, signal.SIGSTOP, group=True)
    return lambda: ground.site.signal(name, signal.SIGCONT, group=True)


def _freeze_child(ground: Ground) -> Undo | None:
    pid = _some_child(ground)
    if not pid:
        return None
    os.kill(pid, signal.SIGSTOP)

    def thaw() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    return thaw


# Postgres.


def _stop_postgres(ground: Ground) -> Undo:
    assert ground.postgres is not None
    ground.postgres.stop()
    return ground.postgres.start


def _crash_postgres(number: signal.Signals) -> Callable[[Ground], Undo]:
    def begin(ground: Ground) -> Undo:
        assert ground.postgres is not None
        ground.postgres.kill(number)
        return ground.postgres.restart

    return begin


def _read_only(ground: Ground) -> Undo:
    _administer(ground, "alter system set default_transaction_read_only = on", "select pg_reload_conf()")
    return lambda: _administer(
        ground, "alter system reset default_transaction_read_only", "select pg_reload_conf()"
    )


def _end_backends(ground: Ground) -> None:
    share = ground.rng.choice((0.2, 0.5, 1.0))
    _administer(
        ground,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
        f" and pid <> pg_backend_pid() and random() < {share}",
    )


def _lock_tables(ground: Ground) -> Undo:
    locker = psycopg2.connect(ground.site.settings.database_url)
    with contextlib.suppress(psycopg2.Error):
        locker.cursor().execute("set lock_timeout = '2s'")
        locker.cursor().execute("lock table remand.steps, remand.run_queue in access exclusive mode")
    return locker.close


def _administer(ground: Ground, *statements: str) -> None:
    """Run statements that a server which takes no writes takes."""
    connection = psycopg2.connect(
        ground.site.settings.database_url, options="-c default_transaction_read_only=off"
    )
    try:
        connection.autocommit = True
        for statement in statements:
            connection.cursor().execute(statement)
    finally:
        connection.close()


# Broker.


def _restart_broker(ground: Ground) -> Undo:
    assert ground.broker is not None
    ground.broker.stop()
    return ground.broker.start


def _restart_empty(ground: Ground) -> Undo:
    assert ground.broker is not None
    ground.broker.stop()
    broker = ground.broker

    def start() -> None:
        broker.start()
        broker.empty()

    return start


def _empty_broker(ground: Ground) -> None:
    assert ground.broker is not None
    ground.broker.empty()


def _freeze_broker(ground: Ground) -> Undo:
    assert ground.broker is not None
    broker = ground.broker
    broker.freeze()
    return lambda: broker.freeze(thaw=True)


# The network.


def _link(act: Callable[[Link, random.Random], object]) -> Callable[[Ground], Undo]:
    def begin(ground: Ground) -> Undo:
        link = ground.to_postgres if _current.taken == "to_postgres" else ground.to_broker
        act(link, ground.rng)
        return link.heal

    return begin


_DIRECTIONS = ((UP,), (DOWN,), (UP, DOWN))
_LINKS = ("to_postgres", "to_broker")
_ALL = (*STEP_WORKERS, "control")

KINDS = (
    Kind("worker killed", _signal_main(signal.SIGKILL), _ALL),
    Kind("group killed", _signal_group(signal.SIGKILL), _ALL),
    Kind("child killed", _signal_child(signal.SIGKILL), _ALL),
    Kind("child asked to end", _signal_child(signal.SIGTERM), _ALL),
    Kind("child interrupted", _signal_child(signal.SIGINT), _ALL),
    Kind("worker asked to end", _signal_main(signal.SIGTERM), _ALL),
    Kind("worker interrupted", _signal_main(signal.SIGINT), _ALL),
    Kind("group asked to end", _signal_group(signal.SIGTERM), _ALL),
    Kind("group interrupted", _signal_group(signal.SIGINT), STEP_WORKERS),
    Kind("worker frozen", _freeze, _ALL, (1, 4)),
    Kind("worker frozen beyond its heartbeats", _freeze, STEP_WORKERS, (6, 9)),
    Kind("child frozen", _freeze_child, _ALL, (1, 8)),
    Kind("beat killed", _signal_group(signal.SIGKILL), ("beat",)),
    Kind("beat asked to end", _signal_main(signal.SIGTERM), ("beat",)),
    Kind("postgres restarted", _stop_postgres, ("postgres",), (0, 5), "postgres"),
    Kind("postgres ended at once", _crash_postgres(signal.SIGQUIT), ("postgres",), (0, 3), "postgres"),
    Kind("postgres killed", _crash_postgres(signal.SIGKILL), ("postgres",), (0, 3), "postgres"),
    Kind("postgres read-only", _read_only, ("postgres",), (1, 6), "postgres"),
    Kind("backends ended", _end_backends, ("postgres",)),
    Kind("tables locked", _lock_tables, ("postgres",), (1, 4)),
    Kind("broker restarted", _restart_broker, ("broker",), (0, 4), "broker"),
    Kind("broker restarted without its data", _restart_empty, ("broker",), (0, 4), "broker"),
    Kind("broker emptied", _empty_broker, ("broker",), (0, 0), "broker"),
    Kind("broker frozen", _freeze_broker, ("broker",), (1, 6), "broker"),
    Kind("network cut", _link(lambda link, _: link.cut()), _LINKS),
    Kind("network refused", _link(lambda link, _: link.refuse()), _LINKS, (1, 6)),
    Kind("network swallowed", _link(lambda link, rng: link.swallow(rng.choice(_DIRECTIONS))), _LINKS, (1, 9)),
    Kind("network slow", _link(lambda link, rng: link.slow(rng.uniform(0.02, 0.2))), _LINKS, (2, 6)),
)
