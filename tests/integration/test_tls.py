"""Servers behind TLS: who they are is verified, and what does not fit is said. Keys are made by openssl."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remand_app.bell import bell_to
from remand_app.domain.errors import BrokerUnreachable, DatabaseUnreachable
from remand_app.embedded import binaries
from remand_app.store.connect import connect
from tests.support.certificates import Certificates
from tests.support.own_servers import OwnPostgres, TlsBroker

SYSTEM_POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl makes certificates here")
    return Certificates(tmp_path_factory.mktemp("keys"))


# the broker


@pytest.fixture(scope="module")
def broker(keys: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    made = TlsBroker(tmp_path_factory.mktemp("broker"), keys.server, keys.key)
    if not made.start():
        pytest.skip("no Redis here speaks TLS")
    yield made
    made.stop()


def check(url: str) -> None:
    bell = bell_to(url)
    try:
        bell.check()
    finally:
        bell._app.close()


def test_a_broker_whose_issuer_nobody_knows_is_refused(broker: TlsBroker) -> None:
    with pytest.raises(BrokerUnreachable, match="certificate verify failed") as caught:
        check(f"rediss://127.0.0.1:{broker.port}/0")
    assert f"127.0.0.1:{broker.port}" in caught.value.message


def test_a_broker_is_taken_by_its_issuer(broker: TlsBroker, keys: Certificates) -> None:
    check(f"rediss://127.0.0.1:{broker.port}/0?ssl_ca_certs={keys.authority}")


def test_a_broker_of_another_name_is_refused_unless_names_do_not_matter(
    broker: TlsBroker, keys: Certificates
) -> None:
    address = f"rediss://localhost:{broker.port}/0?ssl_ca_certs={keys.authority}"
    with pytest.raises(BrokerUnreachable, match=r"(?i)hostname mismatch|certificate is not valid"):
        check(address)
    check(f"{address}&ssl_check_hostname=false")


def test_a_broker_is_not_asked_who_it_is_only_if_the_url_says_so(broker: TlsBroker) -> None:
    check(f"rediss://127.0.0.1:{broker.port}/0?ssl_cert_reqs=none")


def test_a_broker_without_tls_where_it_is_wanted_is_told(any_broker_url: str) -> None:
    if not any_broker_url.startswith("redis://"):
        pytest.skip("the broker of this run is no Redis")
    with pytest.raises(BrokerUnreachable):
        check(any_broker_url.replace("redis://", "rediss://"))


def test_config_check_says_what_is_wrong_with_a_certificate(
    command: Callable[..., str], broker: TlsBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMAND_BROKER_URL", f"rediss://:hunter2@127.0.0.1:{broker.port}/0")
    told = command("config", "check", exits=3)
    assert "certificate verify failed" in " ".join(told.split())
    assert "hunter2" not in told


# Postgres


@pytest.fixture(scope="module")
def postgres(keys: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with TLS, without a word of it."""
    with pytest.MonkeyPatch.context() as patch:
        if SYSTEM_POSTGRES and not speaks_tls(binaries.find().postgres):
            patch.setenv(binaries.PG_BIN, str(SYSTEM_POSTGRES[0]))
        if not speaks_tls(binaries.find().postgres):
            pytest.skip("no PostgreSQL here speaks TLS")
        server = OwnPostgres(tmp_path_factory.mktemp("postgres"))
        server.start()
        server.encrypt(keys.server, keys.key)
        yield server.url
        server.stop()


def speaks_tls(programs: Path) -> bool:
    linked = subprocess.run(["ldd", str(programs / "postgres")], capture_output=True, text=True, check=False)
    return "libssl" in linked.stdout


def test_postgres_whose_issuer_nobody_knows_is_refused(postgres: str, keys: Certificates) -> None:
    for mode in ("verify-ca", "verify-full"):
        with pytest.raises(DatabaseUnreachable, match=r"certificate verify failed|root certificate"):
            connect(f"{postgres}?sslmode={mode}")
        with pytest.raises(DatabaseUnreachable, match="certificate verify failed"):
            connect(f"{postgres}?sslmode={mode}&sslrootcert={keys.other}")


def test_postgres_is_taken_by_its_issuer(postgres: str, keys: Certificates) -> None:
    opened = connect(f"{postgres}?sslmode=verify-full&sslrootcert={keys.authority}")
    with opened.cursor() as cursor:
        cursor.execute("select ssl from pg_stat_ssl where pid = pg_backend_pid()")
        assert cursor.fetchall() == [(True,)]
    opened.close()


def test_postgres_of_another_name_is_refused(postgres: str, keys: Certificates) -> None:
    elsewhere = postgres.replace("127.0.0.1", "localhost")
    with pytest.raises(DatabaseUnreachable, match="does not match host name"):
        connect(f"{elsewhere}?sslmode=verify-full&sslrootcert={keys.authority}")
    connect(f"{elsewhere}?sslmode=verify-ca&sslrootcert={keys.authority}").close()


def test_postgres_without_tls_where_it_is_wanted_is_told(own_database_url: str) -> None:
    parted = "&" if "?" in own_database_url else "?"
    with pytest.raises(DatabaseUnreachable, match="SSL"):
        connect(f"{own_database_url}{parted}sslmode=require")
