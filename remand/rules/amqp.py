"""Rules for AMQP 0-9-1: reply codes, and the classes of py-amqp, pika and aio-pika."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
    under,
)

_LIB: Final = "the libraries' class trees"
_SOURCE: Final = "AMQP 0-9-1 section 1.8, reply codes"
_AMQP: Final = ("amqp.exceptions", "pika.exceptions", "aio_pika.exceptions", "aiormq.exceptions")

RULES: Final = (
    Rule("amqp.connection-code", "amqp", (320,), NETWORK, "the broker closed the connection", _SOURCE),
    Rule("amqp.too-large", "amqp", (311,), VALIDATION, "the message is too large", _SOURCE),
    Rule(
        "amqp.no-consumers",
        "amqp",
        (312, 313),
        PERMANENT,
        "the message has no route or consumer",
        _SOURCE,
        confidence=0.7,
    ),
    Rule("amqp.denied", "amqp", (403,), PERMISSION, "the broker refuses the login or the right", _SOURCE),
    Rule(
        "amqp.missing",
        "amqp",
        (402, 404, 530),
        PERMANENT,
        "the queue, exchange or virtual host does not exist or may not be used so",
        _SOURCE,
    ),
    Rule(
        "amqp.locked",
        "amqp",
        (405,),
        TRANSIENT,
        "another connection holds the queue",
        _SOURCE,
        confidence=0.8,
    ),
    Rule("amqp.precondition", "amqp", (406,), PERMANENT, "the queue exists with other settings", _SOURCE),
    Rule(
        "amqp.slow-ack",
        "amqp",
        (406,),
        TRANSIENT,
        "the broker cut a slow consumer and delivers again",
        _SOURCE,
        text=r"delivery acknowledgement|consumer_timeout|unknown delivery tag",
    ),
    Rule(
        "amqp.protocol",
        "amqp",
        (501, 502, 503, 504, 505, 540),
        PERMANENT,
        "the AMQP conversation is out of order",
        _SOURCE,
        confidence=0.8,
    ),
    Rule("amqp.resources", "amqp", (506,), RESOURCE, "the broker is short of resources", _SOURCE),
    Rule("amqp.internal", "amqp", (541,), TRANSIENT, "the broker met an internal error", _SOURCE),
    Rule(
        "amqp.refused",
        "type",
        (
            "pika.exceptions.ProbableAuthenticationError",
            "pika.exceptions.ProbableAccessDeniedError",
            "pika.exceptions.AuthenticationError",
        ),
        PERMISSION,
        "the broker refuses the login",
        _LIB,
    ),
    Rule(
        "amqp.misuse",
        "type",
        under(
            "pika.exceptions",
            names="DuplicateConsumerTag DuplicateGetOkCallback InvalidFieldTypeException "
            "UnsupportedAMQPFieldException ShortStringTooLong InvalidFrameError "
            "UnexpectedFrameError MethodNotImplemented InvalidChannelNumber "
            "ProtocolVersionMismatch ReentrancyError IncompatibleProtocolError "
            "ProtocolSyntaxError",
        ),
        PERMANENT,
        "the client was used wrongly",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "amqp.dropped-early",
        "type",
        ("pika.exceptions.IncompatibleProtocolError",),
        NETWORK,
        "the broker hung up before it said which protocol it speaks",
        _LIB,
        text=r"StreamLost|Reset|EOF|timed? ?out",
        confidence=0.8,
    ),
    Rule(
        "amqp.blocked",
        "type",
        ("amqp.exceptions.ResourceError", "pika.exceptions.ConnectionBlockedTimeout"),
        RESOURCE,
        "the broker is short of memory or disk",
        _LIB,
    ),
    Rule(
        "amqp.unroutable",
        "type",
        under(*_AMQP, names="UnroutableError NackError DeliveryError MessageNacked"),
        TRANSIENT,
        "the broker did not take the message",
        _LIB,
        confidence=0.6,
    ),
    Rule(
        "amqp.recoverable",
        "fallback",
        under(
            *_AMQP,
            names="ConnectionError RecoverableConnectionError RecoverableChannelError "
            "AMQPConnectionError AMQPError ChannelClosed "
            "ConnectionClosed StreamLostError ChannelError",
        ),
        NETWORK,
        "the connection to the broker failed",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "amqp.irrecoverable",
        "fallback",
        under(*_AMQP, names="IrrecoverableConnectionError IrrecoverableChannelError"),
        PERMANENT,
        "the broker refuses the call",
        _LIB,
        confidence=0.7,
    ),
)
