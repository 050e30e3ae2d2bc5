"""Databases, brokers, mail, SSH and gRPC: what their clients raise when it really happens."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import smtplib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg2
import psycopg2.extensions
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from remand.classify import classify
from tests.libraries import rude
from tests.libraries.cases import caught
from tests.support.databases import Cluster
from tests.support.servers import Servers

pytestmark = pytest.mark.filterwarnings("ignore")
RETRIED_NETWORK = {"network/exponential", "network/immediate", "transient/exponential"}


def verdict(exc: BaseException) -> str:
    found = classify(exc)
    return f"{found.category}/{found.policy}"


# --- PostgreSQL ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(test_servers: Servers) -> Cluster:
    return Cluster(test_servers.database_url)


@pytest.fixture(scope="module")
def dsn(server: Cluster) -> Iterator[str]:
    """An empty database of its own with one table."""
    with server.empty() as url:
        plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with (
            contextlib.closing(psycopg2.connect(plain)) as connection,
            connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("create table t (id int primary key, v int not null default 0)")
            cursor.execute("insert into t values (1, 0), (2, 0)")
        yield plain


def by_psycopg2(dsn: str) -> Any:
    return psycopg2.connect(dsn)


def by_psycopg(dsn: str) -> Any:
    psycopg = pytest.importorskip("psycopg")
    return psycopg.connect(dsn)


class Engine:
    """A connection of SQLAlchemy that looks like one of a driver."""

    def __init__(self, dsn: str) -> None:
        self._engine = sa.create_engine(dsn.replace("postgresql://", "postgresql+psycopg2://"))
        self._connection = self._engine.connect()

    def execute(self, statement: str) -> None:
        self._connection.exec_driver_sql(statement)

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()


DRIVERS = (by_psycopg2, by_psycopg, Engine)


def execute(connection: Any, *statements: str) -> None:
    for statement in statements:
        if isinstance(connection, psycopg2.extensions.connection):
            with connection.cursor() as cursor:
                cursor.execute(statement)
        else:
            connection.execute(statement)


@pytest.mark.parametrize("connect", DRIVERS)
@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (["insert into t values (1)"], "validation/never"),
        (["insert into t (id, v) values (9, null)"], "validation/never"),
        (["select * from missing"], "permanent/never"),
        (["select missing from t"], "permanent/never"),
        (["selec 1"], "permanent/never"),
        (["select 1/0"], "validation/never"),
        (["select 'x'::int"], "validation/never"),
        (["select 99999999999::int"], "validation/never"),
        (["set statement_timeout = 20", "select pg_sleep(5)"], "transient/exponential"),
        (["do $$ begin raise exception 'no stock'; end $$"], "validation/never"),
        (["select pg_terminate_backend(pg_backend_pid())"], "network/exponential"),
        (["set transaction read only", "insert into t values (8)"], "transient/exponential"),
        (["create role app_x", "set role app_x", "select * from t"], "permission/never"),
        (["set lc_messages = 'C'", "select lo_get(123456)"], "permanent/never"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_statement_fails(
    connect: Callable[[str], Any], statements: list[str], expected: str, dsn: str
) -> None:
    with contextlib.closing(connect(dsn)) as connection:
        assert verdict(caught(lambda: execute(connection, *statements))) == expected


def collide(first: Any, second: Any, work: tuple[list[str], list[str]]) -> list[BaseException]:
    """Run the halves of two transactions that want what the other has; return what is raised."""
    met = threading.Barrier(2)

    def run(connection: Any, statements: list[str]) -> BaseException | None:
        try:
            execute(connection, *statements[:-1])
            met.wait(10)
            execute(connection, statements[-1])
            connection.commit()
        except Exception as exc:
            return exc
        return None

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run, first, work[0]), pool.submit(run, second, work[1])]
        return [exc for done in runs if (exc := done.result(30)) is not None]


@pytest.mark.parametrize("connect", DRIVERS)
def test_a_deadlock_is_run_again_at_once(connect: Callable[[str], Any], dsn: str) -> None:
    touch = "update t set v = v + 1 where id = {}".format
    with contextlib.closing(connect(dsn)) as one, contextlib.closing(connect(dsn)) as two:
        raised = collide(one, two, ([touch(1), touch(2)], [touch(2), touch(1)]))
    assert [verdict(exc) for exc in raised] == ["transient/immediate"]


@pytest.mark.parametrize("connect", DRIVERS)
def test_a_serialization_failure_is_run_again_at_once(connect: Callable[[str], Any], dsn: str) -> None:
    first = ["set transaction isolation level serializable", "select sum(v) from t", "update t set v = v + 1"]
    with contextlib.closing(connect(dsn)) as one, contextlib.closing(connect(dsn)) as two:
        raised = collide(one, two, (first, first))
    assert [verdict(exc) for exc in raised] == ["transient/immediate"]


@pytest.mark.parametrize("connect", DRIVERS)
def test_a_lock_that_is_held_is_tried_again(connect: Callable[[str], Any], dsn: str) -> None:
    with contextlib.closing(connect(dsn)) as one, contextlib.closing(connect(dsn)) as two:
        execute(one, "select * from t where id = 1 for update")
        busy = caught(lambda: execute(two, "select * from t where id = 1 for update nowait"))
    assert verdict(busy) == "transient/exponential"


@pytest.mark.parametrize("connect", DRIVERS)
def test_a_lock_timeout_is_tried_again(connect: Callable[[str], Any], dsn: str) -> None:
    with contextlib.closing(connect(dsn)) as one, contextlib.closing(connect(dsn)) as two:
        execute(one, "select * from t where id = 1 for update")
        late = caught(lambda: execute(two, "set lock_timeout = 20", "update t set v = 1 where id = 1"))
    assert verdict(late) == "transient/exponential"


@pytest.mark.parametrize("connect", DRIVERS)
def test_a_database_that_is_not_there_is_final(connect: Callable[[str], Any], dsn: str) -> None:
    elsewhere = make_url(dsn).set(database="no_such_database").render_as_string(hide_password=False)
    assert verdict(caught(lambda: connect(elsewhere))) == "permanent/never"


@pytest.mark.parametrize("connect", DRIVERS)
def test_a_server_that_is_away_is_tried_again(connect: Callable[[str], Any]) -> None:
    away = f"postgresql://app:x@127.0.0.1:{rude.free_port()}/app?connect_timeout=2"
    assert verdict(caught(lambda: connect(away))) == "network/exponential"


@pytest.mark.parametrize("connect", DRIVERS)
def test_a_server_that_hangs_up_is_tried_again(connect: Callable[[str], Any]) -> None:
    with rude.listening(lambda talk: talk.recv(8)) as port:
        exc = caught(lambda: connect(f"postgresql://app:x@127.0.0.1:{port}/app?connect_timeout=2"))
    assert verdict(exc) in RETRIED_NETWORK


@pytest.fixture(scope="module")
def limited(server: Cluster, dsn: str) -> Iterator[str]:
    """The URL of a role with a password and one connection."""
    role = f"remand_limited_{os.getpid()}"
    server.execute(f"create role {role} login password 'right' connection limit 1")
    yield make_url(dsn).set(username=role, password="right").render_as_string(hide_password=False)
    server.execute(f"drop role {role}")


@pytest.mark.parametrize("connect", DRIVERS)
def test_too_many_connections_wait_long(connect: Callable[[str], Any], limited: str) -> None:
    with contextlib.closing(psycopg2.connect(limited)):
        assert verdict(caught(lambda: connect(limited))) == "resource/linear"


@pytest.mark.parametrize("connect", DRIVERS)
def test_a_wrong_password_is_final(connect: Callable[[str], Any], limited: str) -> None:
    wrong = make_url(limited).set(password="wrong").render_as_string(hide_password=False)
    raised = raised_by(lambda: connect(wrong).close())
    if raised is None:
        pytest.skip("this server trusts whoever connects")
    assert verdict(raised) == "permission/never"


def raised_by(action: Callable[[], object]) -> Exception | None:
    try:
        action()
    except Exception as exc:
        return exc
    return None


def test_a_pool_of_our_own_that_is_used_up_waits(dsn: str) -> None:
    url = dsn.replace("postgresql://", "postgresql+psycopg2://")
    engine = sa.create_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.05)
    with engine.connect():
        assert verdict(caught(engine.connect)) == "resource/exponential"
    engine.dispose()


# --- Redis and other brokers --------------------------------------------------------------------------


@pytest.fixture
def broker(test_servers: Servers) -> Iterator[Any]:
    import redis

    with redis.Redis.from_url(make_url_of_redis(test_servers.broker_url), socket_timeout=2) as client:
        yield client
        client.flushdb()


def make_url_of_redis(url: str) -> str:
    """Return the URL of database 9, which nothing else uses."""
    return url if url.startswith("redis+socket") else f"{url.rpartition('/')[0]}/9"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("incr", "text"), "validation/never permanent/never"),
        (("lpush", "text", "x"), "permanent/never"),
        (("nonsense",), "permanent/never"),
        (("set", "a"), "permanent/never"),
        (("evalsha", "0" * 40, 0), "permanent/never"),
        (("xgroup", "create", "s", "g", "0"), "permanent/never"),
        (("auth", "nobody", "wrong"), "permission/never"),
    ],
)
def test_redis_refuses_a_command(command: tuple[Any, ...], expected: str, broker: Any) -> None:
    broker.set("text", "no number")
    assert verdict(caught(lambda: broker.execute_command(*command))) in expected.split()


def test_a_watched_key_that_changed_is_run_again_at_once(broker: Any) -> None:
    with broker.pipeline() as pipe:
        pipe.watch("k")
        broker.set("k", 1)
        pipe.multi()
        pipe.set("k", 2)
        assert verdict(caught(pipe.execute)) == "transient/immediate"


def test_a_lock_somebody_holds_is_tried_again(broker: Any) -> None:
    with broker.lock("lock", timeout=30):
        other = broker.lock("lock", blocking_timeout=0.05)
        assert verdict(caught(other.__enter__)) == "transient/exponential"


def test_a_value_redis_cannot_hold_is_final(broker: Any) -> None:
    assert verdict(caught(lambda: broker.set("k", {"a": 1}))) == "validation/never"


# Each connects its client to a port where nobody listens, or somebody hangs up.


def connect_redis(port: int) -> Any:
    import redis

    return redis.Redis(port=port).ping()


def connect_kombu(port: int) -> Any:
    import kombu

    return kombu.Connection(f"redis://127.0.0.1:{port}/0").ensure_connection(max_retries=0, timeout=1)


def connect_amqp(port: int) -> Any:
    import kombu

    return kombu.Connection(f"amqp://127.0.0.1:{port}//").connect()


def connect_pika(port: int) -> Any:
    import pika

    return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port))


def connect_pymongo(port: int) -> Any:
    import pymongo

    return pymongo.MongoClient("127.0.0.1", port, serverSelectionTimeoutMS=100).admin.command("ping")


def connect_kafka(port: int) -> Any:
    import kafka

    return kafka.KafkaProducer(bootstrap_servers=f"127.0.0.1:{port}", api_version_auto_timeout_ms=200)


def connect_elasticsearch(port: int) -> Any:
    import elasticsearch

    return elasticsearch.Elasticsearch(f"http://127.0.0.1:{port}", max_retries=0).info()


def connect_opensearch(port: int) -> Any:
    import opensearchpy

    return opensearchpy.OpenSearch([{"host": "127.0.0.1", "port": port}], max_retries=0).info()


def connect_pymysql(port: int) -> Any:
    import pymysql

    return pymysql.connect(host="127.0.0.1", port=port, connect_timeout=2)


def connect_paramiko(port: int) -> Any:
    import paramiko

    return paramiko.SSHClient().connect("127.0.0.1", port, timeout=2)


def connect_smtplib(port: int) -> Any:
    return smtplib.SMTP("127.0.0.1", port, timeout=2)


def connect_ldap3(port: int) -> Any:
    import ldap3

    return ldap3.Connection(ldap3.Server("127.0.0.1", port, connect_timeout=2), auto_bind=True)


def connect_asyncpg(port: int) -> Any:
    import asyncio

    import asyncpg

    return asyncio.run(asyncpg.connect(host="127.0.0.1", port=port, user="a", database="a", timeout=2))


def connect_docker(port: int) -> Any:
    import docker

    return docker.DockerClient(f"tcp://127.0.0.1:{port}", version="1.43", timeout=2).ping()


def connect_kubernetes(port: int) -> Any:
    from kubernetes import client

    configuration = client.Configuration(host=f"http://127.0.0.1:{port}")
    configuration.retries = 0
    return client.CoreV1Api(client.ApiClient(configuration)).list_namespace()


def connect_openai(port: int) -> Any:
    import openai

    return openai.OpenAI(api_key="k", base_url=f"http://127.0.0.1:{port}", max_retries=0).models.list()


def connect_anthropic(port: int) -> Any:
    import anthropic

    return anthropic.Anthropic(api_key="k", base_url=f"http://127.0.0.1:{port}", max_retries=0).models.list()


def connect_stripe(port: int) -> Any:
    import stripe

    client_of = stripe.StripeClient(
        "sk_test_x", base_addresses={"api": f"http://127.0.0.1:{port}"}, max_network_retries=0
    )
    return client_of.customers.list()


def connect_slack(port: int) -> Any:
    import slack_sdk

    return slack_sdk.WebClient("x", base_url=f"http://127.0.0.1:{port}/").api_test()


REFUSED: dict[str, Callable[[int], Any]] = {
    "redis": connect_redis,
    "kombu": connect_kombu,
    "amqp": connect_amqp,
    "pika": connect_pika,
    "pymongo": connect_pymongo,
    "kafka": connect_kafka,
    "elasticsearch": connect_elasticsearch,
    "opensearch": connect_opensearch,
    "pymysql": connect_pymysql,
    "paramiko": connect_paramiko,
    "smtplib": connect_smtplib,
    "ldap3": connect_ldap3,
    "asyncpg": connect_asyncpg,
    "docker": connect_docker,
    "kubernetes": connect_kubernetes,
    "openai": connect_openai,
    "anthropic": connect_anthropic,
    "stripe": connect_stripe,
    "slack": connect_slack,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_service_that_is_away_is_tried_again(kind: str) -> None:
    exc = caught(lambda: REFUSED[kind](rude.free_port()))
    if isinstance(exc, ImportError):
        pytest.skip(f"not installed: {exc.name}")
    assert verdict(exc) == "network/exponential", f"{type(exc)} {exc} {classify(exc)}"


@pytest.mark.parametrize("kind", [k for k in REFUSED if k not in {"asyncpg", "ldap3", "kafka"}])
def test_a_service_that_hangs_up_is_tried_again(kind: str) -> None:
    with rude.listening(lambda talk: None) as port:
        exc = caught(lambda: REFUSED[kind](port))
    if isinstance(exc, ImportError):
        pytest.skip(f"not installed: {exc.name}")
    assert verdict(exc) in RETRIED_NETWORK, f"{type(exc)} {exc} {classify(exc)}"


# --- mail, gRPC, pools --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mail() -> Iterator[int]:
    with rude.listening(rude.smtp) as port:
        yield port


def send(port: int, sender: str, recipients: list[str]) -> None:
    with smtplib.SMTP("127.0.0.1", port, timeout=3) as client:
        client.sendmail(sender, recipients, "hello")


@pytest.mark.parametrize(
    ("sender", "recipients", "expected"),
    [
        ("a@b", ["code450@b"], "transient/exponential"),
        ("a@b", ["code452@b"], "resource/exponential"),
        ("a@b", ["code550@b"], "validation/never"),
        ("a@b", ["code550@b", "code451@b"], "transient/exponential"),
        ("code421@b", ["c@d"], "transient/exponential"),
        ("code530@b", ["c@d"], "permission/never"),
        ("code553@b", ["c@d"], "validation/never"),
        ("a@b", ["c@d"], "permanent/never"),
    ],
)
def test_a_mail_server_says_no(sender: str, recipients: list[str], expected: str, mail: int) -> None:
    assert verdict(caught(lambda: send(mail, sender, recipients))) == expected


def test_a_mail_server_refuses_the_login(mail: int) -> None:
    with smtplib.SMTP("127.0.0.1", mail, timeout=3) as client:
        assert verdict(caught(lambda: client.login("app", "wrong"))) == "permission/never"


def test_a_mail_server_hangs_up(mail: int) -> None:
    client = smtplib.SMTP("127.0.0.1", mail, timeout=3)
    assert verdict(caught(lambda: (client.docmd("HANG"), client.noop()))) == "network/exponential"
    client.close()


def test_a_mail_server_that_knows_no_tls(mail: int) -> None:
    with smtplib.SMTP("127.0.0.1", mail, timeout=3) as client:
        assert verdict(caught(client.starttls)) == "permanent/never"


CODES = {
    "UNAVAILABLE": "network/exponential",
    "DEADLINE_EXCEEDED": "network/exponential",
    "RESOURCE_EXHAUSTED": "resource/exponential",
    "ABORTED": "transient/immediate",
    "INTERNAL": "permanent/never",
    "UNKNOWN": "transient/exponential",
    "INVALID_ARGUMENT": "validation/never",
    "NOT_FOUND": "permanent/never",
    "ALREADY_EXISTS": "validation/never",
    "PERMISSION_DENIED": "permission/never",
    "UNAUTHENTICATED": "permission/never",
    "FAILED_PRECONDITION": "permanent/never",
    "OUT_OF_RANGE": "validation/never",
    "UNIMPLEMENTED": "permanent/never",
    "DATA_LOSS": "permanent/never",
    "CANCELLED": "transient/exponential",
}


@pytest.fixture(scope="module")
def calls() -> Iterator[Callable[[str, float], object]]:
    """Call a real gRPC server; the payload says with what it fails."""
    grpc = pytest.importorskip("grpc")

    class Failing(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            if details.method != "/shop/Buy":
                return None
            return grpc.unary_unary_rpc_method_handler(self.answer)

        def answer(self, request: bytes, context: Any) -> bytes:
            if request == b"SLOW":
                never.wait(5)
            if request == b"BUG":
                raise KeyError("connection")
            code, _, told = request.decode().partition(":")
            context.abort(getattr(grpc.StatusCode, code), told or "told")
            return b""

    never = threading.Event()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=(Failing(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:

        def call(payload: str, timeout: float = 5, method: str = "/shop/Buy") -> object:
            return channel.unary_unary(method)(payload.encode(), timeout=timeout)

        yield call
    never.set()
    server.stop(0).wait()


@pytest.mark.parametrize("code", CODES)
def test_a_grpc_server_fails_with_a_code(code: str, calls: Callable[[str], object]) -> None:
    assert verdict(caught(lambda: calls(code))) == CODES[code]


def test_a_dropped_stream_is_tried_again_and_a_broken_invariant_is_not(
    calls: Callable[[str], object],
) -> None:
    dropped = caught(lambda: calls("INTERNAL:Received RST_STREAM with error code 2"))
    broken = caught(lambda: calls("INTERNAL:assertion failed"))
    assert verdict(dropped) == "transient/exponential"
    assert verdict(broken) == "permanent/never"


def test_a_grpc_call_takes_too_long(calls: Callable[..., object]) -> None:
    assert verdict(caught(lambda: calls("SLOW", timeout=0.05))) == "network/exponential"


def test_a_grpc_method_that_is_not_there(calls: Callable[..., object]) -> None:
    assert verdict(caught(lambda: calls("x", method="/shop/Sell"))) == "permanent/never"


def test_a_grpc_server_with_a_bug_is_tried_again(calls: Callable[..., object]) -> None:
    assert verdict(caught(lambda: calls("BUG"))) == "transient/exponential"


def test_nobody_listens_for_grpc() -> None:
    grpc = pytest.importorskip("grpc")
    with grpc.insecure_channel(f"127.0.0.1:{rude.free_port()}") as channel:
        exc = caught(lambda: channel.unary_unary("/shop/Buy")(b"x", timeout=5))
    assert verdict(exc) == "network/exponential"


def test_a_child_of_a_pool_that_is_killed() -> None:
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        assert verdict(caught(lambda: pool.submit(os._exit, 1).result(20))) == "resource/linear"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "resource/linear"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "transient/exponential"),
        ("raise SystemExit(75)", "transient/exponential"),
        ("raise SystemExit(65)", "validation/never"),
    ],
)
def test_a_program_ends_badly(code: str, expected: str) -> None:
    exc = caught(lambda: subprocess.run([sys.executable, "-c", code], check=True))
    assert verdict(exc) == expected


def test_a_program_takes_too_long() -> None:
    exc = caught(lambda: subprocess.run(["sleep", "9"], check=True, timeout=0.05))
    assert verdict(exc) == "transient/exponential"


def test_a_stubbed_cloud_says_no() -> None:
    boto3 = pytest.importorskip("boto3")
    from botocore.stub import Stubber

    client = boto3.client("sqs", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    for code, status, expected in (
        ("RequestThrottled", 403, "resource/exponential"),
        ("AWS.SimpleQueueService.NonExistentQueue", 400, "permanent/never"),
        ("AccessDenied", 403, "permission/never"),
        ("InternalFailure", 500, "transient/exponential"),
    ):
        with Stubber(client) as stub:
            stub.add_client_error("send_message", code, "told", status)
            exc = caught(lambda: client.send_message(QueueUrl="https://x", MessageBody="x"))
        assert verdict(exc) == expected
