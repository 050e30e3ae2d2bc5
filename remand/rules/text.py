"""Rules that read the message of exceptions whose class and codes say nothing. The last resort.

Each pattern is a phrase that libraries print and people seldom write; bare words ("timeout", "connection")
and bare numbers are not used: they occur in names, ports and sentences about something else.
"""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    IMMEDIATE,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
)

_ANY: Final = ("*",)
_LIBS: Final = "messages of libc, OpenSSL and common clients"
_LOW: Final = 0.6

RULES: Final = (
    Rule(
        "text.certificate",
        "text",
        _ANY,
        PERMANENT,
        "a certificate was refused",
        _LIBS,
        hints=("cert", "unknown", "mismatch", "match", "version"),
        confidence=_LOW,
        text=r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|certificate has expired"
        r"|certificate signed by unknown"
        r"|self[- ]signed certificate|unknown ca\b"
        r"|hostname mismatch|doesn't match either of|wrong version number|WRONG_VERSION_NUMBER",
    ),
    Rule(
        "text.tls",
        "text",
        _ANY,
        PERMANENT,
        "the two sides do not speak the same TLS, or one refuses the other",
        _LIBS,
        text=r"(SSLV3|TLSV1|TLSV13)_ALERT_(HANDSHAKE_FAILURE|BAD_CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA"
        r"|PROTOCOL_VERSION|ACCESS_DENIED|INSUFFICIENT_SECURITY)|TLSV1_UNRECOGNIZED_NAME"
        r"|NO_SHARED_CIPHER|UNSUPPORTED_PROTOCOL|UNSAFE_LEGACY_RENEGOTIATION|(DH|EE"
        r"|CA)_KEY_TOO_SMALL",
        hints=("alert", "tls", "shared", "protocol", "legacy", "small"),
        confidence=_LOW,
    ),
    Rule(
        "text.name",
        "text",
        _ANY,
        PERMANENT,
        "no such host name",
        _LIBS,
        hints=("known", "associated", "nodename", "notfound", "such", "unknownhost"),
        confidence=_LOW,
        text=r"name or service not known|no address associated with hostname"
        r"|nodename nor servname|\bENOTFOUND\b"
        r"|: no such host\b|\bUnknownHostException\b",
    ),
    Rule(
        "text.login",
        "text",
        _ANY,
        PERMISSION,
        "the login or the right was refused",
        _LIBS,
        hints=(
            "auth",
            "api",
            "credential",
            "denied",
            "passw",
            "wrongpass",
            "invalid",
            "expired",
            "access",
            "40",
        ),
        confidence=_LOW,
        text=r"authentication failed|invalid ((access|api|auth|bearer) token|api[- ]?key|credentials"
        r"|username or password|token)\b"
        r"|permission denied|access denied"
        r"|(bad|incorrect|wrong) (credentials|password|api[- ]?key)|(token|session"
        r"|credentials) (has |have |is )?expired"
        r"|not authori[sz]ed\b|\bunauthori[sz]ed\b|unable to locate credentials"
        r"|\bWRONGPASS\b|\bNOAUTH\b|\bACCESS_REFUSED\b"
        r"|proxy authentication required|tunnel connection failed: 40[137]",
    ),
    Rule(
        "text.limited",
        "text",
        _ANY,
        RESOURCE,
        "the other side limits the rate",
        _LIBS,
        EXPONENTIAL,
        confidence=_LOW,
        text=r"too many requests|rate[- ]limit(ed| exceeded| reached)|rate exceeded"
        r"|request was throttled|throttling exception",
    ),
    Rule(
        "text.full",
        "text",
        _ANY,
        RESOURCE,
        "something is full or used up",
        _LIBS,
        confidence=_LOW,
        text=r"no space left on device|disk quota exceeded|cannot allocate memory|out of memory"
        r"|too many open files|too many clients already"
        r"|insufficient storage",
    ),
    Rule(
        "text.deadlock",
        "text",
        _ANY,
        TRANSIENT,
        "the work met another piece of work; run it again",
        _LIBS,
        IMMEDIATE,
        confidence=_LOW,
        text=r"deadlock (detected|found)|could not serialize access|write conflict during|optimistic lock",
    ),
    Rule(
        "text.network",
        "text",
        _ANY,
        NETWORK,
        "the connection failed or was dropped",
        _LIBS,
        hints=(
            "conn",
            "time",
            "unreach",
            "route",
            "resolution",
            "pipe",
            "closed",
            "eof",
            "retries",
            "establish",
            "addrinfo",
            "hang",
            "deadline",
            "epipe",
            "eai_",
        ),
        confidence=_LOW,
        text=r"connection (refused|aborted|broken|reset( by peer)?|timed out"
        r"|closed( by)? (the )?(remote|peer|server))\b|timed out\b|read timeout"
        r"|network is unreachable|no route to host|temporary failure in name resolution|broken pipe"
        r"|(server|remote end) (closed|disconnected)|remotedisconnected|unexpected eof"
        r"|eof occurred in violation|max retries exceeded"
        r"|failed to establish a new connection|host is unreachable|getaddrinfo failed|socket hang up"
        # Node.js, Go, Java, Envoy: what bridges, sidecars and scripts pass on.
        r"|\b(ETIMEDOUT|ESOCKETTIMEDOUT|ECONNREFUSED|ECONNRESET|ECONNABORTED|EHOSTUNREACH|ENETUNREACH|EPIPE|EAI_AGAIN)\b"
        r"|\bi/o timeout\b|(context |\A)deadline exceeded|\bDEADLINE_EXCEEDED\b|code = deadlineexceeded"
        r"|\A(the )?(request|connection|connect|operation|read|write|socket"
        r"|gateway)( has)?[ -]time(d out|[ -]?out)\b"
        r"|\b(java\.net\.)?(SocketTimeoutException|ConnectException|NoRouteToHostException)\b"
        r"|upstream connect error|connect(ion)? timeout|request timeout(?! was| is)|tls handshake timeout",
    ),
    Rule(
        "text.spent",
        "text",
        _ANY,
        PERMANENT,
        "the credit or the budget is spent; somebody has to look at billing",
        "the vendors' pages on billing",
        hints=("limit", "insufficient", "credit", "payment", "billing", "budget"),
        confidence=_LOW,
        text=r"(spend(ing)?|budget|billing)( hard)? limit|budget (has been )?exceeded"
        r"|specified api usage limits|insufficient (credits?|funds|balance)"
        r"|out of credits|payment required"
        r"|credit balance is too low|check your plan and billing",
    ),
    Rule(
        "text.used-up",
        "text",
        _ANY,
        RESOURCE,
        "a quota is used up, or the other side is overloaded",
        "messages of common services",
        confidence=_LOW,
        text=r"quota (has been )?exceeded|exceeded (the|your)( \w+)? quota|(service|server"
        r"|model|system) (is )?(currently )?overloaded",
    ),
    Rule(
        "text.unavailable",
        "text",
        _ANY,
        TRANSIENT,
        "the other side is not ready",
        _LIBS,
        hints=("unavailable", "internal", "gateway", "again", "busy", "starting", "locked", "many"),
        confidence=_LOW,
        text=r"service (is )?(temporarily )?unavailable|temporarily unavailable"
        r"|internal server error|bad gateway|gateway time-?out"
        r"|(please )?try again later|server is busy|is starting up|database is locked"
        r"|too many \d{3} error responses",
    ),
    Rule(
        "text.invalid",
        "text",
        _ANY,
        VALIDATION,
        "the data was refused",
        _LIBS,
        confidence=0.5,
        text=r"^(\d+ )?validation errors? (for|in)\b|is not json serializable"
        r"|failed schema validation|violates (not-null|unique|foreign key|check) constraint",
    ),
)
