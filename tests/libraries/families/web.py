"""HTTP clients: status codes through each of them, and what they raise without an answer."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from typing import Any

from tests.libraries.cases import Case, caught, family

BACKOFF = "network/exponential transient/exponential resource/exponential"
BOUNDED = "transient/exponential resource/linear resource/exponential network/exponential"
NEVER = "permanent/never validation/never permission/never"
URL = "https://api.example.com/v1/items"


STATUSES = {
    402: ("permanent/never", "permission/never"), 403: ("permission/never", ""), 404: ("permanent/never", "validation/never"),
    406: ("validation/never", "permanent/never"), 407: ("permission/never", "permanent/never"),
    409: ("transient/exponential", "transient/immediate permanent/never validation/never"),
    410: ("permanent/never", ""), 411: ("validation/never", "permanent/never"), 413: ("validation/never", "permanent/never"),
    414: ("validation/never", "permanent/never"), 416: ("validation/never", "permanent/never"),
    417: ("validation/never", "permanent/never"), 418: ("permanent/never", "validation/never"),
    423: ("transient/exponential", f"{BOUNDED} transient/immediate"), 424: ("permanent/never", "transient/exponential"),
    425: ("transient/exponential", "transient/immediate network/exponential"), 426: ("permanent/never", "validation/never"),
    428: ("validation/never", "permanent/never"), 431: ("validation/never", "permanent/never"),
    504: ("transient/exponential", BACKOFF), 506: ("permanent/never", ""), 508: ("permanent/never", ""),
    511: ("permission/never", NEVER), 520: ("network/exponential", BACKOFF), 522: ("network/exponential", BACKOFF),
    524: ("network/exponential", BACKOFF), 526: ("permanent/never", ""), 529: ("resource/exponential", BOUNDED),
    499: ("network/exponential", BACKOFF), 599: ("network/exponential", BACKOFF), 561: ("transient/exponential", BACKOFF),
}  # fmt: skip


@family("requests", "RFC 9110 section 15; the class tree of requests")
def requests_cases() -> Iterator[Case]:
    import requests
    from requests import exceptions as rx
    from urllib3 import exceptions as ux
    from urllib3.connection import HTTPSConnection

    def answer(status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> BaseException:
        response = requests.Response()
        response.status_code, response.url, response._content = status, URL, body
        response.headers.update(headers or {})
        return caught(response.raise_for_status)

    for status, (expected, also) in STATUSES.items():
        yield Case(expected, answer(status), also, f"HTTP {status}")
    yield Case("resource/exponential", answer(429, {"Retry-After": "120"}), "resource/linear")
    yield Case("resource/exponential", answer(413, {"Retry-After": "30"}), BOUNDED)
    limited = b'{"message": "API rate limit exceeded for user ID 1."}'
    yield Case("resource/exponential", answer(403, {"x-ratelimit-remaining": "0"}, limited), BOUNDED)
    yield Case("permission/never", answer(403, {}, b'{"message": "Resource not accessible by integration"}'))
    spent = b'{"error": {"code": "insufficient_quota", "message": "check your plan"}}'
    yield Case("permanent/never", answer(429, {}, spent), "permission/never", "R02: no time clears it")
    yield Case("permanent/never", answer(500, {"X-Should-Retry": "false"}), "")
    yield Case("transient/exponential", answer(503, {}, b"<html>certificate of service 404</html>"), BACKOFF)

    def json_of(body: bytes) -> BaseException:
        response = requests.Response()
        response.status_code, response._content = 200, body
        return caught(response.json)

    yield Case("validation/never", json_of(b"<html>login</html>"), "permanent/never")
    yield Case("network/exponential", json_of(b'{"items": [1, 2, {"a'), "transient/exponential", "cut short")
    yield Case("network/exponential", json_of(b'{"items": [1, 2,'), "transient/exponential", "cut short")

    def failed(reason: Exception) -> rx.ConnectionError:
        pool: Any = requests.adapters.HTTPAdapter().get_connection_with_tls_context(
            requests.Request("GET", URL).prepare(), True
        )
        return rx.ConnectionError(ux.MaxRetryError(pool, "/v1", reason))

    connection = HTTPSConnection("api.example.com")
    yield Case("network/exponential", failed(ux.NewConnectionError(connection, "[Errno 111] Connection refused")))
    yield Case(
        "network/exponential", failed(ux.NameResolutionError("db.invalid", connection, socket.gaierror(-2, "Name not known"))),
        "permanent/never",
    )  # fmt: skip
    yield Case("network/exponential", failed(ux.ReadTimeoutError(None, "/v1", "Read timed out.")), BACKOFF)
    yield Case("permanent/never", rx.SSLError(ux.SSLError("[SSL: WRONG_VERSION_NUMBER] wrong version number")), NEVER)
    hostname = "hostname 'a.example.com' doesn't match 'b.example.com'"
    yield Case("permanent/never", rx.SSLError(hostname), NEVER)
    yield Case("network/exponential", rx.SSLError("EOF occurred in violation of protocol (_ssl.c:1006)"), BACKOFF)
    yield Case("network/exponential", rx.Timeout(), BACKOFF)
    for url in ("no-scheme.example.com", "ftp://example.com", "http://", "http://a b/", "http://*bad.com"):
        yield Case("validation/never", caught(lambda url=url: requests.get(url, timeout=1)), "permanent/never")
    yield Case("validation/never", caught(lambda: requests.post("http://127.0.0.1:1", json=float("nan"), timeout=1)), NEVER)
    yield Case("permanent/never", rx.ContentDecodingError("Received response with content-encoding: gzip"), f"{NEVER} {BACKOFF}")
    yield Case("permanent/never", rx.StreamConsumedError("The content for this response was already consumed"), NEVER)
    yield Case("validation/never", rx.UnrewindableBodyError("Unable to rewind request body for redirect."), NEVER)
    yield Case("validation/never", rx.InvalidProxyURL("Please check proxy URL."), NEVER)


@family("urllib3", "the class tree of urllib3")
def urllib3_cases() -> Iterator[Case]:
    import urllib3
    from urllib3 import exceptions as ux
    from urllib3.connection import HTTPConnection

    pool: Any = urllib3.HTTPConnectionPool("api.example.com")
    connection = HTTPConnection("api.example.com")
    yield Case("network/exponential", ux.ConnectTimeoutError(connection, "timed out"), BACKOFF)
    yield Case("network/exponential", ux.ReadTimeoutError(pool, "/", "Read timed out."), BACKOFF)
    yield Case("network/exponential", ux.NewConnectionError(connection, "[Errno 113] No route to host"))
    yield Case("network/exponential", ux.NameResolutionError("x", connection, socket.gaierror(-3, "again")), BACKOFF)
    yield Case("network/exponential", ux.IncompleteRead(3, 10), BACKOFF)
    yield Case("network/exponential", ux.ProtocolError("Connection broken", ConnectionResetError(104, "x")), BACKOFF)
    yield Case("network/exponential", ux.ProxyError("Unable to connect to proxy", OSError(111, "refused")), BACKOFF)
    yield Case("permanent/never", ux.SSLError(ssl.SSLCertVerificationError(1, "certificate verify failed")), NEVER)
    yield Case("resource/exponential", ux.EmptyPoolError(pool, "Pool is full and no connections left"), BOUNDED)
    yield Case("transient/exponential", ux.ClosedPoolError(pool, "Pool is closed."), f"{BOUNDED} permanent/never")
    refused = ux.NewConnectionError(connection, "[Errno 111] Connection refused")
    yield Case("network/exponential", ux.MaxRetryError(pool, "/v1", refused))
    yield Case("transient/exponential", ux.MaxRetryError(pool, "/v1", ux.ResponseError("too many 503 error responses")), BACKOFF)
    yield Case("resource/exponential", ux.MaxRetryError(pool, "/v1", ux.ResponseError("too many 429 error responses")), BOUNDED)
    yield Case("permanent/never", ux.MaxRetryError(pool, "/v1", ux.ResponseError("too many redirects")), NEVER)
    yield Case("validation/never", ux.URLSchemeUnknown("gopher"), "permanent/never")
    yield Case("validation/never", ux.ProxySchemeUnknown("socks9"), "permanent/never")
    yield Case("validation/never", ux.InvalidHeader("Content-Length contained multiple unmatching values"), NEVER)
    yield Case("validation/never", ux.DecodeError("failed to decode it", OSError("Not a gzipped file")), f"{NEVER} {BACKOFF}")


@family("httpx", "the class tree of httpx; RFC 9110")
def httpx_cases() -> Iterator[Case]:
    import httpx

    def answer(status: int, headers: dict[str, str] | None = None) -> BaseException:
        request = httpx.Request("GET", URL)
        return caught(httpx.Response(status, headers=headers, request=request).raise_for_status)

    for status, (expected, also) in STATUSES.items():
        yield Case(expected, answer(status), also, f"HTTP {status}")
    yield Case("resource/exponential", answer(429, {"retry-after": "3"}), "resource/linear")
    for name in ["ConnectTimeout", "ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "CloseError", "ProxyError"]:
        yield Case("network/exponential", getattr(httpx, name)(""), BACKOFF, name)
    yield Case("network/exponential", httpx.ConnectError("All connection attempts failed"), "transient/exponential")
    yield Case("network/exponential", httpx.ConnectError("[Errno -3] Temporary failure in name resolution"))
    yield Case("permanent/never", httpx.ConnectError("[Errno -2] Name or service not known"), "network/exponential")
    yield Case("permanent/never", httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number"), NEVER)
    yield Case("permanent/never", httpx.ConnectError("[SSL] hostname mismatch, certificate is not valid for 'x'"), NEVER)
    yield Case("permission/never", httpx.ProxyError("407 Proxy Authentication Required"), f"{NEVER}")
    yield Case("permanent/never", httpx.TooManyRedirects("Exceeded maximum allowed redirects."), NEVER)
    yield Case("validation/never", caught(lambda: httpx.get("http://a:port/")), "permanent/never")
    yield Case("validation/never", caught(lambda: httpx.get("no-scheme")), "permanent/never")
    yield Case("validation/never", httpx.LocalProtocolError("Illegal header value b'a\\n'"), "permanent/never")
    yield Case("permanent/never", httpx.DecodingError("Error -3 while decompressing data"), f"{NEVER} {BACKOFF}")
    yield Case("permanent/never", httpx.ResponseNotRead(), "validation/never")
    yield Case("permanent/never", httpx.StreamConsumed(), "validation/never")
    yield Case("permanent/never", httpx.CookieConflict("Multiple cookies exist with name=a"), "validation/never")


@family("aiohttp", "the class tree of aiohttp; RFC 9110")
def aiohttp_cases() -> Iterator[Case]:
    import aiohttp
    from aiohttp.client_reqrep import ConnectionKey
    from multidict import CIMultiDict, CIMultiDictProxy
    from yarl import URL as Url

    key = ConnectionKey("api.example.com", 443, True, True, None, None, None)
    info = aiohttp.RequestInfo(Url(URL), "GET", CIMultiDictProxy(CIMultiDict()), Url(URL))

    def answer(status: int, headers: dict[str, str] | None = None, kind: Any = aiohttp.ClientResponseError) -> BaseException:
        made: BaseException = kind(info, (), status=status, message="told", headers=CIMultiDict(headers or {}))
        return made

    for status, (expected, also) in STATUSES.items():
        yield Case(expected, answer(status), also, f"HTTP {status}")
    yield Case("resource/exponential", answer(429, {"Retry-After": "11"}), "resource/linear")
    yield Case("permission/never", answer(407, kind=aiohttp.ClientHttpProxyError), NEVER)
    yield Case("permission/never", answer(401, kind=aiohttp.WSServerHandshakeError), NEVER)
    yield Case("transient/exponential", answer(503, kind=aiohttp.WSServerHandshakeError), BACKOFF)
    yield Case("network/exponential", aiohttp.ClientPayloadError("Response payload is not completed"), BACKOFF)
    yield Case("network/exponential", aiohttp.ClientOSError(104, "Connection reset by peer"), BACKOFF)
    yield Case("network/exponential", aiohttp.ClientConnectorDNSError(key, OSError(None, "Timeout while contacting DNS servers")), BACKOFF)
    yield Case("network/exponential", aiohttp.ClientProxyConnectionError(key, OSError(111, "refused")), BACKOFF)
    expired = ssl.SSLCertVerificationError(1, "certificate verify failed: certificate has expired")
    yield Case("permanent/never", aiohttp.ClientConnectorCertificateError(key, expired), NEVER)
    wrong = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")
    yield Case("permanent/never", aiohttp.ClientConnectorSSLError(key, wrong), NEVER)
    yield Case("network/exponential", aiohttp.ServerTimeoutError("Timeout on reading data"), BACKOFF)
    yield Case("network/exponential", aiohttp.ConnectionTimeoutError("Connection timeout to host"), BACKOFF)
    yield Case("network/exponential", aiohttp.SocketTimeoutError("Timeout on reading data from socket"), BACKOFF)
    yield Case("network/exponential", aiohttp.ClientConnectionResetError("Cannot write to closing transport"), BACKOFF)
    yield Case("validation/never", aiohttp.InvalidURL("http://["), "permanent/never")
    yield Case("validation/never", aiohttp.NonHttpUrlClientError("ftp://x"), "permanent/never")
    yield Case("permanent/never", aiohttp.TooManyRedirects(info, (), status=302), "validation/never")
    yield Case("validation/never", aiohttp.ClientConnectorError(key, OSError(22, "Invalid argument")), NEVER)
    yield Case("transient/exponential", aiohttp.ClientConnectionError("Connector is closed"), f"{BACKOFF} permanent/never")
    yield Case("network/exponential", http.client.RemoteDisconnected("closed"), BACKOFF)
