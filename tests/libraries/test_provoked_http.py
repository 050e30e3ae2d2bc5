"""HTTP clients against servers on this machine: what they raise when it really happens."""

from __future__ import annotations

import asyncio
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import pytest

from remand.classify import classify
from tests.libraries import rude
from tests.libraries.cases import caught

pytestmark = pytest.mark.filterwarnings("ignore")

STATUSES = {
    400: "validation/never",
    401: "permission/never",
    403: "permission/never",
    404: "permanent/never",
    408: "transient/exponential",
    409: "transient/exponential",
    421: "network/immediate",
    422: "validation/never",
    425: "transient/exponential",
    429: "resource/exponential",
    500: "transient/exponential",
    501: "permanent/never",
    502: "transient/exponential",
    503: "transient/exponential",
    504: "transient/exponential",
}


def by_urllib(url: str) -> object:
    with urllib.request.urlopen(url, timeout=2) as answer:
        return json.loads(answer.read())


def by_requests(url: str) -> object:
    import requests

    answer = requests.get(url, timeout=2)
    answer.raise_for_status()
    return answer.json()


def by_urllib3(url: str) -> object:
    import urllib3

    return urllib3.PoolManager().request("GET", url, timeout=2, retries=2).json()


def by_httpx(url: str) -> object:
    import httpx

    return httpx.get(url, timeout=2, follow_redirects=True).raise_for_status().json()


def by_aiohttp(url: str) -> object:
    import aiohttp

    async def get() -> object:
        opened = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2), raise_for_status=True)
        async with opened as session, session.get(url) as answer:
            return await answer.json(content_type=None)

    return asyncio.run(get())


def by_botocore(url: str) -> object:
    import boto3
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=2)
    client = boto3.client(
        "s3", endpoint_url=url.rstrip("/"), region_name="eu-west-1", config=config,
        aws_access_key_id="a", aws_secret_access_key="b",
    )  # fmt: skip
    return client.list_buckets()


CLIENTS: tuple[Callable[[str], object], ...] = (by_urllib, by_requests, by_httpx, by_aiohttp)
ALL = (*CLIENTS, by_urllib3, by_botocore)


def verdict(client: Callable[[str], object], url: str) -> str:
    try:
        exc = caught(lambda: client(url))
    except ImportError as missing:
        pytest.skip(f"not installed: {missing.name}")
    if isinstance(exc, ImportError):
        pytest.skip(f"not installed: {exc.name}")
    if isinstance(exc, urllib.error.HTTPError):
        exc.close()
    found = classify(exc)
    return f"{found.category}/{found.policy}"


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    with rude.listening(rude.http) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def distrusted() -> Iterator[str]:
    trustme = pytest.importorskip("trustme")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost", "127.0.0.1").configure_cert(context)
    with rude.listening(rude.http, context) as port:
        yield f"https://localhost:{port}"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_the_same_to_all_clients(
    status: int, client: Callable[[str], object], plain: str
) -> None:
    assert verdict(client, f"{plain}/{status}") == STATUSES[status]


@pytest.mark.parametrize("client", CLIENTS)
def test_the_wait_that_was_asked_for_is_found(client: Callable[[str], object], plain: str) -> None:
    exc = caught(lambda: client(f"{plain}/503"))
    if isinstance(exc, ImportError):
        pytest.skip(f"not installed: {exc.name}")
    if isinstance(exc, urllib.error.HTTPError):
        exc.close()
    wait = classify(exc).retry_after
    assert wait is not None
    assert wait.total_seconds() == 7


@pytest.mark.parametrize("client", ALL)
def test_a_certificate_nobody_trusts_is_final(client: Callable[[str], object], distrusted: str) -> None:
    assert verdict(client, f"{distrusted}/200") == "permanent/never"


@pytest.mark.parametrize("client", ALL)
def test_tls_to_a_plain_port_is_final(client: Callable[[str], object], plain: str) -> None:
    assert verdict(client, plain.replace("http:", "https:") + "/200") == "permanent/never"


@pytest.mark.parametrize("client", ALL)
def test_nobody_listens(client: Callable[[str], object]) -> None:
    assert verdict(client, f"http://127.0.0.1:{rude.free_port()}/") == "network/exponential"


@pytest.mark.parametrize("client", ALL)
def test_the_server_hangs_up_without_a_word(client: Callable[[str], object]) -> None:
    with rude.listening(rude.request_of) as port:
        assert verdict(client, f"http://127.0.0.1:{port}/gone") == "network/exponential"


@pytest.mark.parametrize("client", [*CLIENTS, by_urllib3])
@pytest.mark.parametrize("path", ["cut", "silent", "cut-json"])
def test_the_answer_does_not_come_whole(client: Callable[[str], object], path: str, plain: str) -> None:
    assert verdict(client, f"{plain}/{path}") == "network/exponential"


@pytest.mark.parametrize("client", [*CLIENTS, by_urllib3])
def test_redirects_in_a_circle_are_final(client: Callable[[str], object], plain: str) -> None:
    assert verdict(client, f"{plain}/circle") == "permanent/never"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_page_where_json_was_expected_is_final(client: Callable[[str], object], plain: str) -> None:
    assert verdict(client, f"{plain}/html") == "validation/never"


@pytest.mark.parametrize("client", [by_requests, by_httpx, by_urllib3])
def test_an_address_that_is_none_is_final(client: Callable[[str], object]) -> None:
    assert verdict(client, "gopher://127.0.0.1/").endswith("/never")
