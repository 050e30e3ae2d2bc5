"""Rules for HTTP: status codes of any client, and the classes of requests, urllib3, httpx and aiohttp.

Classes that only say "the server answered badly" have no rule: their status decides.
"""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    IMMEDIATE,
    LINEAR,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
    under,
)

_RFC: Final = "RFC 9110 section 15"
_LIB: Final = "the libraries' class trees"

_STATUSES: Final = (
    Rule(
        "http.bad-request", "status", (400, 422), VALIDATION, "the server refuses the request as it is", _RFC
    ),
    Rule(
        "http.unauthorized",
        "status",
        (401, 407, 511),
        PERMISSION,
        "the credentials are missing or wrong",
        _RFC,
    ),
    Rule("http.payment", "status", (402,), PERMANENT, "the server wants to be paid first", _RFC),
    Rule("http.forbidden", "status", (403,), PERMISSION, "the server denies access", _RFC),
    Rule(
        "http.forbidden-limit",
        "status",
        (403,),
        RESOURCE,
        "the server limits how often it is called, and says so with 403",
        "GitHub REST API, secondary rate limits",
        EXPONENTIAL,
        text=r"rate.?limit|abuse detection|too many requests|throttl",
    ),
    Rule(
        "http.forbidden-block",
        "status",
        (403,),
        RESOURCE,
        "the index is read-only until its disk has room again",
        "Elasticsearch cluster blocks",
        LINEAR,
        text=r"cluster_block_exception|FORBIDDEN/12",
    ),
    Rule(
        "http.forbidden-asked",
        "status",
        (403,),
        RESOURCE,
        "the server asks to wait, so the refusal is a limit",
        "GitHub REST API, secondary rate limits",
        EXPONENTIAL,
        needs_retry_after=True,
    ),
    Rule("http.not-found", "status", (404, 410), PERMANENT, "there is nothing at that address", _RFC),
    Rule(
        "http.method",
        "status",
        (405, 501, 505, 506, 510),
        PERMANENT,
        "the server does not support the call",
        _RFC,
    ),
    Rule(
        "http.not-acceptable",
        "status",
        (406, 415, 417),
        VALIDATION,
        "the server refuses the form of the data",
        _RFC,
    ),
    Rule(
        "http.timeout",
        "status",
        (408,),
        TRANSIENT,
        "the server waited too long for the request; send it again",
        _RFC,
    ),
    Rule(
        "http.conflict",
        "status",
        (409,),
        TRANSIENT,
        "the request met another one or a state that is changing",
        "RFC 9110 section 15.5.10; SDKs of Stripe and OpenAI retry it",
        confidence=0.6,
    ),
    Rule(
        "http.length",
        "status",
        (411, 414, 416, 431),
        VALIDATION,
        "the server refuses the size of the request",
        _RFC,
    ),
    Rule(
        "http.precondition",
        "status",
        (412, 428),
        PERMANENT,
        "what the request presumes is no longer so",
        _RFC,
    ),
    Rule("http.too-large", "status", (413,), VALIDATION, "the request is too large", _RFC),
    Rule(
        "http.too-large-asked",
        "status",
        (413,),
        RESOURCE,
        "too much for now: the server says when to come back",
        "RFC 9110 section 15.5.14",
        EXPONENTIAL,
        needs_retry_after=True,
    ),
    Rule(
        "http.misdirected",
        "status",
        (421,),
        NETWORK,
        "the connection led to the wrong server; open a new one",
        "RFC 9110 section 15.5.20",
        IMMEDIATE,
    ),
    Rule(
        "http.locked",
        "status",
        (423,),
        TRANSIENT,
        "the resource is locked by somebody",
        "RFC 4918 section 11.3",
    ),
    Rule(
        "http.dependency",
        "status",
        (424,),
        PERMANENT,
        "an action this one depends on failed",
        "RFC 4918 section 11.4",
        confidence=0.6,
    ),
    Rule("http.too-early", "status", (425,), TRANSIENT, "too early; send it again", "RFC 8470 section 5.2"),
    Rule(
        "http.limited",
        "status",
        (429,),
        RESOURCE,
        "the server limits how often it is called",
        "RFC 6585 section 4",
        EXPONENTIAL,
    ),
    Rule(
        "http.spent",
        "status",
        (400, 403, 429),
        PERMANENT,
        "the credit or the budget is spent; no wait helps until somebody looks at billing",
        "the vendors' pages on billing; OpenAI, Anthropic, Google Maps, Hugging Face",
        text=r"exceeded your current quota|check your plan and billing|(spend(ing)?|budget"
        r"|billing)( hard)? (limit|cap)"
        r"|credit balance|insufficient.(credit|funds|balance)|out of credits|(upgrade|change) your plan"
        r"|monthly (usage|spend(ing)?|included credits?)|billing (is )?(not (active"
        r"|enabled)|disabled)|payment required",
        hints=("quota", "billing", "limit", "cap", "credit", "insufficient", "plan", "monthly", "payment"),
        confidence=0.9,
    ),
    Rule(
        "http.retry-with",
        "status",
        (449,),
        TRANSIENT,
        "the request met another one; send it again",
        "https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb",
    ),
    Rule("http.legal", "status", (451,), PERMANENT, "unavailable for legal reasons", "RFC 7725"),
    Rule(
        "http.expired",
        "status",
        (419, 440, 498),
        PERMISSION,
        "the session or token has expired",
        "vendors' use",
        confidence=0.7,
    ),
    Rule(
        "http.client-gone",
        "status",
        (444, 460, 499),
        NETWORK,
        "a proxy saw the connection close",
        "nginx; AWS ELB",
        confidence=0.8,
    ),
    Rule(
        "http.client-certificate",
        "status",
        (495, 496, 526),
        PERMANENT,
        "a certificate was refused",
        "nginx; Cloudflare",
    ),
    Rule(
        "http.4xx",
        "status",
        ("4xx",),
        PERMANENT,
        "the server says the request is wrong",
        _RFC,
        confidence=0.8,
    ),
    Rule("http.server-error", "status", (500,), TRANSIENT, "the server failed", _RFC),
    Rule("http.gateway", "status", (502,), TRANSIENT, "a gateway could not reach the server", _RFC),
    Rule(
        "http.unavailable", "status", (503,), TRANSIENT, "the server is overloaded or down for a while", _RFC
    ),
    Rule(
        "http.gateway-timeout", "status", (504,), TRANSIENT, "a gateway waited too long for the server", _RFC
    ),
    Rule("http.storage", "status", (507,), RESOURCE, "the server's storage is full", "RFC 4918 section 11.5"),
    Rule("http.loop", "status", (508,), PERMANENT, "the request runs in a loop", "RFC 5842 section 7.2"),
    Rule(
        "http.bandwidth",
        "status",
        (509, 529),
        RESOURCE,
        "the server is over its limit",
        "vendors' use",
        EXPONENTIAL,
    ),
    Rule(
        "http.origin",
        "status",
        (520, 521, 522, 523, 524, 525, 527, 530, 598, 599),
        NETWORK,
        "the proxy cannot reach the origin",
        "Cloudflare 5xx",
    ),
    Rule("http.5xx", "status", ("5xx",), TRANSIENT, "the server failed", _RFC, confidence=0.8),
    Rule(
        "http.should-not-retry",
        "header",
        ("x-should-retry:false", "stripe-should-retry:false"),
        PERMANENT,
        "the server says not to retry",
        "SDKs of Stripe and OpenAI",
    ),
    Rule(
        "http.should-retry",
        "header",
        ("x-should-retry:true", "stripe-should-retry:true"),
        TRANSIENT,
        "the server says to retry",
        "SDKs of Stripe and OpenAI",
    ),
)

_REQUESTS: Final = "requests.exceptions"
_URLLIB3: Final = "urllib3.exceptions"
_HTTPX: Final = ("httpx", "httpx2", "httpcore")
_AIOHTTP: Final = "aiohttp.client_exceptions"

_CLASSES: Final = (
    Rule(
        "http.input",
        "type",
        under(
            _REQUESTS,
            names="InvalidURL InvalidSchema MissingSchema InvalidHeader InvalidProxyURL "
            "UnrewindableBodyError",
        )
        + under(
            _URLLIB3, names="LocationValueError InvalidHeader UnrewindableBodyError BodyNotHttplibCompatible"
        )
        + under(*_HTTPX, names="UnsupportedProtocol InvalidURL CookieConflict LocalProtocolError")
        + under(_AIOHTTP, names="InvalidURL ContentTypeError NonHttpUrlClientError InvalidUrlClientError")
        + under(
            "http.client", names="InvalidURL UnknownProtocol UnknownTransferEncoding ImproperConnectionState"
        ),
        VALIDATION,
        "the URL, header or body is not valid",
        _LIB,
    ),
    Rule(
        "http.body-json",
        "base",
        under(_REQUESTS, names="JSONDecodeError InvalidJSONError"),
        VALIDATION,
        "the body is not JSON",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "http.misuse",
        "type",
        under(*_HTTPX, names="StreamError StreamConsumed StreamClosed ResponseNotRead RequestNotRead")
        + under(_REQUESTS, names="StreamConsumedError ContentDecodingError")
        + under(*_HTTPX, names="DecodingError")
        + under(_URLLIB3, names="DecodeError ResponseNotChunked"),
        PERMANENT,
        "the body cannot be read that way",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "http.redirects",
        "type",
        (
            f"{_REQUESTS}.TooManyRedirects",
            *under(*_HTTPX, names="TooManyRedirects"),
            f"{_AIOHTTP}.TooManyRedirects",
        ),
        PERMANENT,
        "the redirects go in a circle",
        _LIB,
    ),
    Rule(
        "http.own-pool",
        "type",
        under(*_HTTPX, names="PoolTimeout") + under(_URLLIB3, names="EmptyPoolError FullPoolError"),
        RESOURCE,
        "the program's own connection pool is used up",
        _LIB,
        EXPONENTIAL,
    ),
    Rule(
        "http.timeouts",
        "type",
        under(_REQUESTS, names="ConnectTimeout ReadTimeout Timeout")
        + under(_URLLIB3, names="ConnectTimeoutError ReadTimeoutError TimeoutError")
        + under(*_HTTPX, names="ConnectTimeout ReadTimeout WriteTimeout TimeoutException")
        + under(_AIOHTTP, names="ServerTimeoutError SocketTimeoutError ConnectionTimeoutError"),
        NETWORK,
        "the server did not answer in time",
        _LIB,
    ),
    Rule(
        "http.dropped",
        "type",
        under(_REQUESTS, names="ChunkedEncodingError")
        + under(_URLLIB3, names="IncompleteRead InvalidChunkLength")
        + under(*_HTTPX, names="RemoteProtocolError ReadError WriteError CloseError")
        + under(_AIOHTTP, names="ServerDisconnectedError ClientPayloadError ClientConnectionResetError")
        + under("http.client", names="RemoteDisconnected IncompleteRead BadStatusLine")
        + (
            "aiohttp.http_exceptions.TransferEncodingError",
            "h2.exceptions.StreamClosedError",
            "websockets.exceptions.ConnectionClosed",
        ),
        NETWORK,
        "the connection was dropped in mid-answer",
        _LIB,
    ),
    Rule(
        "http.tls",
        "fallback",
        (
            f"{_REQUESTS}.SSLError",
            f"{_URLLIB3}.SSLError",
            f"{_AIOHTTP}.ClientSSLError",
            f"{_AIOHTTP}.ClientConnectorSSLError",
        ),
        PERMANENT,
        "TLS was refused",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "http.proxy-refused",
        "type",
        (f"{_REQUESTS}.ProxyError", f"{_URLLIB3}.ProxyError", *under(*_HTTPX, names="ProxyError")),
        PERMISSION,
        "the proxy refuses the login or the address",
        _RFC,
        text=r"\b407\b|proxy authentication required|tunnel connection failed: 40[137]",
        confidence=0.8,
    ),
    Rule(
        "http.redirect-limit",
        "type",
        (f"{_URLLIB3}.ResponseError",),
        PERMANENT,
        "the redirects go in a circle",
        _LIB,
        text=r"too many redirects",
    ),
    Rule(
        "http.limit-repeated",
        "type",
        (f"{_URLLIB3}.ResponseError",),
        RESOURCE,
        "the server limits the rate, again and again",
        _LIB,
        policy=EXPONENTIAL,
        text=r"too many 429 error",
    ),
    Rule(
        "http.text-denied",
        "text",
        ("requests",),
        PERMISSION,
        "the server denies access; the answer itself is lost",
        _RFC,
        text=r"^(401|403|407) client error",
        confidence=0.85,
    ),
    Rule(
        "http.text-invalid",
        "text",
        ("requests",),
        VALIDATION,
        "the server refuses the request; the answer itself is lost",
        _RFC,
        text=r"^(400|411|413|414|415|422) client error",
        confidence=0.85,
    ),
    Rule(
        "http.text-final",
        "text",
        ("requests",),
        PERMANENT,
        "the server says no; the answer itself is lost",
        _RFC,
        text=r"^4(?!08|09|21|23|25|29)\d\d client error|^50[15] server error",
        confidence=0.8,
    ),
    Rule(
        "http.redirect-loop",
        "type",
        ("urllib.error.HTTPError", *under(*_HTTPX, names="HTTPStatusError")),
        PERMANENT,
        "the redirect goes in a circle, or is not followed",
        _LIB,
        text=r"infinite loop|^redirect response|HTTP Error 30\d",
    ),
    Rule(
        "http.address",
        "type",
        ("urllib.error.URLError",),
        VALIDATION,
        "the address is not one that can be opened",
        "https://docs.python.org/3/library/urllib.request.html",
        text=r"unknown url type|no host given|unknown scheme|file not on local host",
    ),
    Rule(
        "http.name-unknown",
        "type",
        (f"{_URLLIB3}.NameResolutionError",),
        PERMANENT,
        "no such host name",
        "getaddrinfo(3); urllib3's text",
        text=r"errno -[25]\]|errno 8\]|errno 1100[14]\]|not known|no address associated",
        confidence=0.7,
    ),
    Rule(
        "http.name",
        "fallback",
        (f"{_URLLIB3}.NameResolutionError", f"{_AIOHTTP}.ClientConnectorDNSError"),
        NETWORK,
        "the host name was not found",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "http.connection",
        "fallback",
        under(_REQUESTS, names="ConnectionError ProxyError")
        + under(
            _URLLIB3,
            names="NewConnectionError ConnectionError ProtocolError ProxyError MaxRetryError HTTPError",
        )
        + under(*_HTTPX, names="ConnectError NetworkError ProxyError ProtocolError TransportError")
        + under(
            _AIOHTTP,
            names="ClientOSError ClientConnectionError ClientHttpProxyError ClientProxyConnectionError",
        )
        + (
            "urllib.error.URLError",
            "http.client.CannotSendRequest",
            "pycurl.error",
            "websockets.exceptions.InvalidHandshake",
        ),
        NETWORK,
        "the connection failed",
        _LIB,
        confidence=0.9,
    ),
    Rule(
        "http.short",
        "type",
        ("urllib.error.ContentTooShortError",),
        NETWORK,
        "the download was cut short",
        "https://docs.python.org/3/library/urllib.error.html",
    ),
    Rule(
        "http.retries-used-up",
        "fallback",
        (f"{_REQUESTS}.RetryError", f"{_URLLIB3}.ResponseError"),
        TRANSIENT,
        "the client's own retries are used up",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "http.any",
        "fallback",
        (
            f"{_REQUESTS}.RequestException",
            *under(*_HTTPX, names="HTTPError RequestError"),
            f"{_AIOHTTP}.ClientError",
            "http.client.HTTPException",
        ),
        TRANSIENT,
        "an HTTP client failed without saying how",
        _LIB,
        confidence=0.5,
    ),
)

RULES: Final = _STATUSES + _CLASSES
