"""Rules for gRPC status codes, from grpc, grpclib and Google's clients."""

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

_DOC: Final = "grpc/grpc doc/statuscodes.md"

RULES: Final = (
    Rule("grpc.unavailable", "grpc", ("UNAVAILABLE",), NETWORK, "the service cannot be reached", _DOC),
    Rule(
        "grpc.deadline", "grpc", ("DEADLINE_EXCEEDED",), NETWORK, "the service did not answer in time", _DOC
    ),
    Rule(
        "grpc.certificate",
        "grpc",
        ("UNAVAILABLE", "UNKNOWN"),
        PERMANENT,
        "a certificate was refused, which gRPC tells as an outage",
        "grpc/grpc, messages of its TLS handshake",
        text=r"CERTIFICATE_VERIFY_FAILED|certificate (verify failed|has expired)"
        r"|Hostname Verification Check failed|self[- ]signed certificate|WRONG_VERSION_NUMBER"
        r"|TLSV1_ALERT_UNKNOWN_CA",
    ),
    Rule(
        "grpc.exhausted",
        "grpc",
        ("RESOURCE_EXHAUSTED",),
        RESOURCE,
        "a quota or limit is used up",
        _DOC,
        EXPONENTIAL,
    ),
    Rule(
        "grpc.message-size",
        "grpc",
        ("RESOURCE_EXHAUSTED",),
        VALIDATION,
        "the message is larger than allowed",
        _DOC,
        text=r"(received|sent|sending) message larger than max",
    ),
    Rule(
        "grpc.aborted",
        "grpc",
        ("ABORTED",),
        TRANSIENT,
        "the call met another one; run it again",
        _DOC,
        IMMEDIATE,
    ),
    Rule(
        "grpc.stream-reset",
        "grpc",
        ("INTERNAL", "UNKNOWN", "CANCELLED"),
        TRANSIENT,
        "the stream was reset under way",
        "grpc/grpc#9177",
        text=r"RST_STREAM|GOAWAY|connection (was )?(closed|reset)|stream (terminated|closed|removed)"
        r"|socket closed|upstream",
    ),
    Rule(
        "grpc.internal",
        "grpc",
        ("INTERNAL",),
        PERMANENT,
        "the service broke an invariant of its own",
        _DOC,
        confidence=0.6,
    ),
    Rule(
        "grpc.unknown",
        "grpc",
        ("UNKNOWN",),
        TRANSIENT,
        "the service failed without saying how",
        _DOC,
        confidence=0.6,
    ),
    Rule("grpc.cancelled", "grpc", ("CANCELLED",), TRANSIENT, "the call was cancelled", _DOC, confidence=0.6),
    Rule(
        "grpc.invalid",
        "grpc",
        ("INVALID_ARGUMENT", "OUT_OF_RANGE", "ALREADY_EXISTS"),
        VALIDATION,
        "the service refuses the arguments",
        _DOC,
    ),
    Rule(
        "grpc.refused",
        "grpc",
        ("FAILED_PRECONDITION", "NOT_FOUND", "UNIMPLEMENTED", "DATA_LOSS"),
        PERMANENT,
        "the service cannot do this until somebody changes something",
        _DOC,
    ),
    Rule(
        "grpc.denied",
        "grpc",
        ("PERMISSION_DENIED", "UNAUTHENTICATED"),
        PERMISSION,
        "the service refuses the credentials or the right",
        _DOC,
    ),
    Rule(
        "grpc.connection",
        "fallback",
        ("grpclib.exceptions.StreamTerminatedError", "grpc.FutureTimeoutError"),
        NETWORK,
        "the connection was dropped",
        "the libraries' class trees",
    ),
    Rule(
        "grpc.any",
        "fallback",
        ("grpc.RpcError",),
        TRANSIENT,
        "a call failed without a code",
        _DOC,
        confidence=0.5,
    ),
)
