"""URLs of the servers: every spelling that people use, and no word of a password whatever is wrong."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from remand_app.bell import broker_settings
from remand_app.config import load_settings, masked
from remand_app.config.settings import Settings
from remand_app.domain.addresses import BrokerAddress, DatabaseAddress, UrlInvalid, shown
from remand_app.domain.errors import ConfigInvalid
from remand_workers.celery import celery_settings


@pytest.mark.parametrize(
    ("url", "keywords"),
    [
        (
            "postgresql://u:p@h:5433/d",
            {"user": "u", "password": "p", "host": "h", "port": "5433", "dbname": "d"},
        ),
        ("postgres://u@h/d", {"user": "u", "host": "h", "dbname": "d"}),
        ("postgresql+psycopg2://h/d", {"host": "h", "dbname": "d"}),
        ("postgresql://h1,h2:5433/d", {"host": "h1,h2", "port": ",5433", "dbname": "d"}),
        ("postgresql://h1:1,h2:2/d", {"host": "h1,h2", "port": "1,2", "dbname": "d"}),
        (
            "postgresql://u@/d?host=h1:1&host=h2:2",
            {"user": "u", "host": "h1,h2", "port": "1,2", "dbname": "d"},
        ),
        ("postgresql:///d?host=h1,h2&port=1,2", {"host": "h1,h2", "port": "1,2", "dbname": "d"}),
        ("postgresql:///d?host=h1,h2&port=1", {"host": "h1,h2", "port": "1,1", "dbname": "d"}),
        ("postgresql:///d?host=/run/postgresql", {"host": "/run/postgresql", "dbname": "d"}),
        ("postgresql:///d?host=/run/pg:5433", {"host": "/run/pg", "port": "5433", "dbname": "d"}),
        ("postgresql://%2Frun%2Fpostgresql/d", {"host": "/run/postgresql", "dbname": "d"}),
        (
            "postgresql://u@%2Frun%2Fpg:5433/d",
            {"user": "u", "host": "/run/pg", "port": "5433", "dbname": "d"},
        ),
        ("postgresql://[::1]:5433/d", {"host": "::1", "port": "5433", "dbname": "d"}),
        ("postgresql:///d?host=::1", {"host": "::1", "dbname": "d"}),
        ("postgresql://h/my%20jobs", {"host": "h", "dbname": "my jobs"}),
        (
            "postgresql://h/d?options=-c%20work_mem%3D8MB+-c%20jit%3Doff&sslmode=require",
            {"host": "h", "dbname": "d", "options": "-c work_mem=8MB -c jit=off", "sslmode": "require"},
        ),
        (
            "postgresql://a%40b:p%40%2F%23%3F%25%3A%20@h/d",
            {"user": "a@b", "password": "p@/#?%: ", "host": "h", "dbname": "d"},
        ),
        ("postgresql://u:a:b@h/d", {"user": "u", "password": "a:b", "host": "h", "dbname": "d"}),
        ("postgresql:///?user=u&password=p&dbname=d", {"user": "u", "password": "p", "dbname": "d"}),
        ("  postgresql://h/d\r\n", {"host": "h", "dbname": "d"}),
        ("\ufeffpostgresql://h/d\n", {"host": "h", "dbname": "d"}),
        ("postgresql://", {}),
    ],
)
def test_what_libpq_is_told(url: str, keywords: dict[str, str]) -> None:
    assert DatabaseAddress.parse(url).keywords() == keywords


SECRET = "Zq7secret"
_WRONG_PASSWORDS = [
    f"{SECRET[:2]}{sign}{SECRET[2:]}"
    for sign in (
        "#",
        "/",
        "?",
        "@",
        "[",
        "]",
        "%",
        "%zz",
        "%ff",
        "%00",
        " ",
        "\n",
        "\t",
        "/1",
        "?a=b&",
        ";",
        ":@",
        "@@",
    )
]


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "mysql", "redis", "rediss", "amqp", "sqs"])
@pytest.mark.parametrize("password", [SECRET, *_WRONG_PASSWORDS, *(f"5432{one}" for one in _WRONG_PASSWORDS)])
@pytest.mark.parametrize("user", ["app", ""])
def test_no_part_of_a_password_is_told_whatever_sign_is_in_it(scheme: str, password: str, user: str) -> None:
    key = "broker_url" if scheme in ("redis", "rediss", "amqp", "sqs") else "database_url"
    url = f"{scheme}://{user}:{password}@db.example/5?sslpassword=Zq7secret"
    said = [shown(url), _everything_said(key, url), _everything_said(key, url.partition("?sslp")[0])]

    assert not [one for one in said if "Zq" in one or "7secret" in one or "secret&" in one]


def _everything_said(key: str, url: str) -> str:
    try:
        settings = load_settings(None, {f"REMAND_{key.upper()}": url})
    except ConfigInvalid as error:
        return f"{error} {error.hint} {error.to_dict()}"
    found = f"{settings!r} {masked(settings)}"
    return found + str(DatabaseAddress.parse(url)) if key == "database_url" else found


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://app:x#y@h/d", "write # as %23"),
        ("postgresql://app:x/y@h/d", "/ as %2F"),
        ("postgresql://app:x@y@h/d", "@ as %40"),
        ("postgresql://app:x%y@h/d", "% as %25"),
        ("postgresql://h/d e", "write a blank as %20"),
        ("postgresql://h1,h2,h3/d?port=1,2", "3 hosts and 2 ports"),
        ("postgresql://h/d?sslmode", "key=value"),
        ("postgresql://h:70000/d", "from 1 to 65535"),
        ("host=h password=x", "should be a URL that starts with postgresql://"),
    ],
)
def test_a_url_that_could_mean_two_things_is_refused_with_the_right_spelling(url: str, says: str) -> None:
    with pytest.raises(UrlInvalid, match=says):
        DatabaseAddress.parse(url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://h/jobs", "number of a Redis database"),
        ("redis://h1,h2/0", "with `;` between them"),
        ("redis://h1/0;rediss://h2/0", "of different kinds"),
        ("redis://h/0?ssl_cert_reqs=none", "no redis:// has"),
        ("rediss://h/0?ssl_cert_reqs=yes", "required"),
        ("redis+socket://h/x", "redis\\+socket:///path"),
        ("unix:///run/redis.sock", "redis\\+socket://"),
        ("redis://h/0;secret@h", "should be a URL"),
    ],
)
def test_a_broker_that_could_not_be_reached_is_refused(url: str, says: str) -> None:
    with pytest.raises(UrlInvalid, match=says):
        BrokerAddress.parse_all(url)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis://:p%40@h:6379/2", "redis://:p%40@h:6379/2"),
        ("redis://h", "redis://h/"),
        ("redis://h1/0;redis://h2/0\n", "redis://h1/0;redis://h2/0"),
        ("redis://h/0?global_keyprefix=jobs%3A", "redis://h/0"),
        ("redis+socket:///run/redis.sock?virtual_host=3", "redis+socket:///run/redis.sock?virtual_host=3"),
        ("amqp://guest:guest@h//", "amqp://guest:guest@h//"),
        ("amqps://h/v%2Fw", "amqps://h/v%2Fw"),
    ],
)
def test_celery_is_told_a_url_that_it_reads_alike(url: str, told: str) -> None:
    assert broker_settings(url)["broker_url"] == told


@pytest.mark.parametrize(
    "url", ["redis://h/0?global_keyprefix=jobs:", "rediss://h/0", "amqps://h1;amqps://h2", "amqp://h"]
)
def test_a_worker_and_all_others_reach_the_broker_by_the_same_settings(url: str) -> None:
    of_all = broker_settings(url)
    of_a_worker = celery_settings(Settings(broker_url=url))

    assert {key: of_a_worker[key] for key in of_all} == of_all


@pytest.mark.parametrize(
    ("url", "key", "value"),
    [
        ("rediss://h", "ssl_cert_reqs", ssl.CERT_REQUIRED),
        ("rediss://h", "ssl_check_hostname", True),
        ("rediss://h?ssl_check_hostname=false", "ssl_check_hostname", False),
        ("rediss://h?ssl_ca_certs=/etc/my%20ca.pem", "ssl_ca_certs", "/etc/my ca.pem"),
        ("rediss://h?ssl_cert_reqs=none", "ssl_cert_reqs", ssl.CERT_NONE),
        ("amqps://h", "cert_reqs", ssl.CERT_REQUIRED),
        ("amqps://h", "server_hostname", None),
        ("amqps://h?ssl_certfile=/c.pem", "certfile", "/c.pem"),
    ],
)
def test_tls_verifies_unless_it_is_told_not_to(url: str, key: str, value: Any) -> None:
    assert broker_settings(url)["broker_use_ssl"][key] == value


def test_a_key_prefix_reaches_the_transport() -> None:
    told = broker_settings("redis://h/0?global_keyprefix=jobs:")

    assert told["broker_transport_options"]["global_keyprefix"] == "jobs:"
    assert broker_settings("redis://h/0")["broker_use_ssl"] is None


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "postgresql://app:x@h:5433/d?sslmode=require",
            "postgresql://app:[redacted]@h:5433/d?sslmode=require",
        ),
        ("postgres://app@h/d?password=x", "postgresql://app:[redacted]@h/d"),
        ("postgresql://h/d?sslpassword=x", "postgresql://h/d?sslpassword=[redacted]"),
        ("postgresql:///d?host=/run/pg", "postgresql:///run/pg/d"),
        ("redis://:x@h/0;redis://:y@g/0", "redis://:[redacted]@h/0;redis://:[redacted]@g/0"),
        ("mysql://app:x@h/d", "[redacted]"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, told: str) -> None:
    assert shown(url) == told


@pytest.mark.parametrize("url", ["postgres://h/d\n", " postgresql://h/d "])
def test_a_setting_is_kept_without_what_a_file_has_around_it(url: str) -> None:
    assert Settings(database_url=url).database_url == "postgresql://h/d"
