"""Every way in which Postgres ends a call: what it says of the call, and that no result suffers from it."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg2
import pytest
import sqlalchemy as sa

from remand_app.domain.errors import Busy, DatabaseReadOnly, DatabaseUnreachable, RightMissing, ValueRefused
from remand_app.store.claims import Claim
from remand_app.store.database import Database
from remand_app.store.driver_errors import SQLSTATES, Ending, ending_of
from tests.support.databases import Cluster
from tests.support.engine import Harness
from tests.support.own_servers import OwnPostgres
from tests.support.shapes import shape
from tests.support.waiting import eventually

AWAY, BUSY, VALUE = DatabaseUnreachable, Busy, ValueRefused
SAMPLES = {
    **dict.fromkeys(("08000", "08003", "08006", "08P01", "25P03", "25P04"), AWAY),
    **dict.fromkeys(("53000", "53100", "53300", "57P01", "57P02", "57P03", "57P05", "58030", "F0001"), AWAY),
    **dict.fromkeys(("40001", "40P01", "53200", "53400", "55006", "55P03", "57014"), BUSY),
    **dict.fromkeys(("22P05", "22003", "54000", "54001"), VALUE),
    "25006": DatabaseReadOnly,
    "42501": RightMissing,
}  # fmt: skip
NO_WORD = {
    "closed": psycopg2.DatabaseError("server closed the connection unexpectedly"),
    "ssl": psycopg2.DatabaseError("SSL connection has been closed unexpectedly"),
    "sync": psycopg2.OperationalError("lost synchronization with server: got message type"),
    "interface": psycopg2.InterfaceError("connection already closed"),
    "internal": psycopg2.InternalError("no message from the libpq"),
}
_SAY = "do $$ begin raise exception using errcode = '{}', message = 'so it is'; end $$"


def opened(url: str, options: str = "") -> Database:
    """Return a database whose sessions have settings of their own."""
    asked = sa.make_url(url)
    if options:
        asked = asked.update_query_dict({"options": options})
    return Database(asked.render_as_string(hide_password=False))


Call = Callable[[Database, str], None]


def by_call(database: Database, sql: str) -> None:
    database.call(sql)


def in_a_transaction(database: Database, sql: str) -> None:
    with database.begin() as connection:
        connection.exec_driver_sql(sql)


def by_reading(database: Database, sql: str) -> None:
    with database.reading() as connection:
        connection.exec_driver_sql(sql)


CALLS = pytest.mark.parametrize("call", [by_call, in_a_transaction, by_reading])


@pytest.fixture
def own(own_database_url: str) -> Iterator[Callable[..., Database]]:
    made: list[Database] = []

    def make(options: str = "") -> Database:
        made.append(opened(own_database_url, options))
        return made[-1]

    yield make
    for one in made:
        one.dispose()


def raised_by(call: Call, database: Database, sql: str) -> Exception | None:
    try:
        call(database, sql)
    except Exception as error:
        return error
    return None


@CALLS
def test_a_sqlstate_is_told_as_the_table_says(own: Callable[..., Database], call: Call) -> None:
    database = own()
    told = {}
    for code in SAMPLES:
        told[code] = type(raised_by(call, database, _SAY.format(code)))
        assert database.call("select 1") == [(1,)], "the next call has a connection that works"

    assert told == SAMPLES


@CALLS
@pytest.mark.parametrize("code", ["42883", "23505", "P0001", "XX000", "0A000"])
def test_what_speaks_of_none_of_it_is_not_translated(
    own: Callable[..., Database], code: str, call: Call
) -> None:
    error = raised_by(call, own(), _SAY.format(code))

    assert isinstance(error, psycopg2.Error | sa.exc.DBAPIError)
    assert ending_of(error) is None


@pytest.mark.parametrize("error", NO_WORD.values(), ids=list(NO_WORD))
def test_an_error_without_a_word_of_the_server_is_a_lost_connection(error: psycopg2.Error) -> None:
    how = ending_of(error)

    assert how is not None
    assert (how.ending, how.drops) == (Ending.AWAY, True)


def test_no_mistake_of_a_call_is_taken_for_a_lost_connection(own: Callable[..., Database]) -> None:
    with pytest.raises(psycopg2.ProgrammingError):
        own().call("select %s", (object(),))


@pytest.mark.parametrize("value", ["a\0b", "\ud800"], ids=["NUL", "half a letter"])
def test_what_the_driver_cannot_send_is_a_value_that_is_refused(
    own: Callable[..., Database], value: str
) -> None:
    with pytest.raises(ValueRefused):
        own().call("select %s", (value,))


_SORT = "select * from generate_series(1, 200000) order by 1 desc"
REAL = {
    "ended by an administrator": ("", "select pg_terminate_backend(pg_backend_pid())", AWAY),
    "read-only": ("-c default_transaction_read_only=on", "delete from remand.pauses", DatabaseReadOnly),
    "statement timeout": ("-c statement_timeout=50", "select pg_sleep(60)", BUSY),
    "no room for a sort": ("-c temp_file_limit=64 -c work_mem=64", _SORT, BUSY),
    "too deep": ("", "select (repeat('[', 100000) || repeat(']', 100000))::jsonb", VALUE),
    "NUL in jsonb": ("", """select '"\\u0000"'::jsonb""", VALUE),
}  # fmt: skip


@CALLS
@pytest.mark.parametrize(("options", "sql", "error"), REAL.values(), ids=list(REAL))
def test_what_a_server_really_does(
    own: Callable[..., Database], options: str, sql: str, error: type[Exception], call: Call
) -> None:
    database = own(options)

    assert type(raised_by(call, database, sql)) is error
    assert database.call("select 1") == [(1,)]


def test_a_lock_that_others_hold_and_a_deadlock(
    own: Callable[..., Database], database: Database, database_url: str
) -> None:
    holder = psycopg2.connect(database_url)
    with holder, holder.cursor() as cursor:
        cursor.execute("lock table remand.pauses in access exclusive mode")
        with pytest.raises(Busy):
            own("-c lock_timeout=50").call("select * from remand.pauses")
        failed: list[Exception] = []

        def meet() -> None:
            try:
                with own("-c deadlock_timeout=20").begin() as connection:
                    connection.exec_driver_sql("lock table remand.workers in access exclusive mode")
                    locked.set()
                    connection.exec_driver_sql("lock table remand.pauses in access exclusive mode")
            except Busy as error:
                failed.append(error)

        locked = threading.Event()
        other = threading.Thread(target=meet)
        other.start()
        assert locked.wait(30)
        waits = "select 1 from pg_locks where relation = 'remand.pauses'::regclass and not granted"
        eventually(lambda: bool(database.call(waits)), timeout=30)
        cursor.execute("set deadlock_timeout = '1h'")
        cursor.execute("lock table remand.workers in access exclusive mode")
        other.join(30)
    holder.close()
    assert [type(error) for error in failed] == [Busy]


def test_a_server_that_is_out_of_connections(cluster: Cluster, database_url: str) -> None:
    url = sa.make_url(database_url).set(username="remand_test_narrow")
    cluster.execute("create role remand_test_narrow login connection limit 0 password %s", (url.password,))
    try:
        database = Database(url.render_as_string(hide_password=False))
        with pytest.raises(DatabaseUnreachable, match="too many connections"):
            database.call("select 1")
    finally:
        cluster.execute("drop role remand_test_narrow")


def test_a_server_that_is_restarted_and_one_whose_backend_is_killed(tmp_path: Path) -> None:
    server = OwnPostgres(tmp_path)
    server.start()
    database = Database(server.url)
    try:
        [(pid,)] = database.call("select pg_backend_pid()")
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(DatabaseUnreachable):
            database.call("select pg_sleep(60)")
        eventually(lambda: _answers(database), timeout=60)
        assert type(raised_by(lambda *_: _lost_in_the_midst(database, server), database, "")) is AWAY
        assert type(raised_by(by_call, database, "select 1")) is AWAY
        server.start()
        assert database.call("select 1") == [(1,)]
    finally:
        database.dispose()
        server.stop()


def _lost_in_the_midst(database: Database, server: OwnPostgres) -> None:
    """Lose the connection within a transaction, in a part of it that swallows every error."""
    with database.begin() as connection:
        server.stop()
        with contextlib.suppress(sa.exc.DBAPIError):
            connection.exec_driver_sql("select 1")


def _answers(database: Database) -> bool:
    try:
        return bool(database.call("select 1"))
    except DatabaseUnreachable:
        return False


_TROUBLE = """
create sequence remand.trouble;
create function remand.make_trouble() returns trigger language plpgsql as $$
begin
  if nextval('remand.trouble') <= {times} then raise exception using errcode = '{code}'; end if;
  return coalesce(new, old);
end $$;
create trigger trouble before update or delete on remand.{table} for each statement
  execute function remand.make_trouble();
"""
_PEACE = "drop function remand.make_trouble cascade; drop sequence remand.trouble"


TROUBLES = [*(code for code in SAMPLES if SAMPLES[code] is not VALUE), "XX000", "42501", "P0001"]


def test_results_and_failures_are_recorded_as_such_however_a_settle_ends(harness: Harness) -> None:
    """Six claims that run well and one that fails, whose first two records the server refuses."""
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=lambda ctx: 1 / ctx.input)
    harness.submit("t/one", 1)
    harness.run_until_quiet()
    queue, recorded = harness.worker.queue, {}
    claim = queue.claim
    for code in TROUBLES:
        ids = [*harness.submit_many("t/one", range(1, 7)), harness.submit("t/one", 0)]

        def claim_and_make_trouble(name: str, k: int, code: str = code) -> list[Claim]:
            claims = claim(name, k)
            queue.claim = claim  # type: ignore[method-assign]
            harness.database.call(_TROUBLE.format(code=code, times=2, table="run_queue"))
            return claims

        queue.claim = claim_and_make_trouble  # type: ignore[method-assign]
        try:
            harness.run_until_quiet()
            assert harness.database.call("select last_value > 2 from remand.trouble") == [(True,)]
        finally:
            harness.database.call(_PEACE)
        recorded[code] = [[(one.attempt, one.outcome) for one in harness.attempts(each)] for each in ids]

    assert recorded == dict.fromkeys(TROUBLES, [[(1, "complete")]] * 6 + [[(1, "failed")]])


_FORBID = """
create function remand.forbid() returns trigger language plpgsql as $$
begin
  if new.state = 'complete' and {which} then raise insufficient_privilege; end if;
  return new;
end $$;
create trigger forbid before update on remand.steps for each row execute function remand.forbid();
"""


@pytest.mark.parametrize("which", ["true", "new.workflow_id = '{id}'"], ids=["all", "one"])
def test_a_result_that_a_missing_right_keeps_back_waits_for_the_grant(harness: Harness, which: str) -> None:
    """The failure could be recorded, and is not: the step has succeeded."""
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=lambda ctx: ctx.input)
    ids = harness.submit_many("t/one", range(3))
    harness.database.call(_FORBID.format(which=which.format(id=ids[0])))
    seen: list[list[str]] = []

    def grant(_seconds: float) -> None:
        seen.append([harness.states(one)["a"] for one in ids])
        if len(seen) == 3:
            harness.database.call("drop function remand.forbid cascade")

    harness.worker.executor._state.pause = grant
    try:
        harness.run_until_quiet()
    finally:
        harness.database.call("drop function if exists remand.forbid cascade")

    assert [[(one.attempt, one.outcome) for one in harness.attempts(each)] for each in ids] == [
        [(1, "complete")]
    ] * 3
    others = "in_progress" if which == "true" else "complete"
    assert seen == [["in_progress", others, others]] * 3


def test_the_table_names_each_code_once_and_only_codes() -> None:
    assert all(len(code) in (2, 5) and code == code.upper() for code in SQLSTATES)
