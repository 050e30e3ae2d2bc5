"""Rules for MongoDB: error labels, server codes, and the classes of pymongo."""

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
    under,
)

_LIB: Final = "the libraries' class trees"
_SOURCE: Final = "pymongo helpers_shared.py; MongoDB manual, error codes"
_MONGO: Final = "pymongo.errors"

RULES: Final = (
    Rule(
        "mongo.transaction",
        "label",
        ("TransientTransactionError",),
        TRANSIENT,
        "the server says to run the transaction again",
        _SOURCE,
        IMMEDIATE,
    ),
    Rule(
        "mongo.retryable",
        "label",
        ("RetryableWriteError", "UnknownTransactionCommitResult", "ResumableChangeStreamError"),
        TRANSIENT,
        "the server says to try again",
        _SOURCE,
    ),
    Rule(
        "mongo.failover",
        "mongo",
        (
            6,
            7,
            89,
            91,
            134,
            189,
            262,
            9001,
            10107,
            11600,
            11602,
            13435,
            13436,
            63,
            150,
            13388,
            234,
            133,
            317,
            358,
        ),
        TRANSIENT,
        "the replica set is electing or restarting",
        _SOURCE,
    ),
    Rule(
        "mongo.conflict",
        "mongo",
        (112, 24, 46, 251, 225),
        TRANSIENT,
        "the write met another one; run it again",
        _SOURCE,
        IMMEDIATE,
    ),
    Rule("mongo.time", "mongo", (50, 202, 43), TRANSIENT, "the operation took too long", _SOURCE),
    Rule(
        "mongo.denied",
        "mongo",
        (13, 18, 33, 8000),
        PERMISSION,
        "MongoDB refuses the login or the right",
        _SOURCE,
    ),
    Rule(
        "mongo.data",
        "mongo",
        (2, 9, 14, 22, 52, 57, 121, 11000, 11001, 12582, 10334, 17280, 28, 66),
        VALIDATION,
        "MongoDB refuses the document",
        _SOURCE,
    ),
    Rule(
        "mongo.resources",
        "mongo",
        (146, 14031, 39, 292, 216),
        RESOURCE,
        "MongoDB is short of memory or disk",
        _SOURCE,
    ),
    Rule(
        "mongo.missing",
        "mongo",
        (26, 27, 48, 59, 72, 85, 86, 20, 115, 263, 73, 76),
        PERMANENT,
        "the collection, index or command is not there or not so",
        _SOURCE,
    ),
    Rule(
        "mongo.own-pool",
        "type",
        under(_MONGO, names="WaitQueueTimeoutError"),
        RESOURCE,
        "the program's own connection pool is used up",
        _LIB,
        EXPONENTIAL,
    ),
    Rule(
        "mongo.duplicate",
        "type",
        (
            *under(
                _MONGO,
                names="DuplicateKeyError DocumentTooLarge InvalidName CollectionInvalid InvalidURI "
                "EncryptionError",
            ),
            "bson.errors.BSONError",
        ),
        VALIDATION,
        "MongoDB refuses the document or the name",
        _LIB,
    ),
    Rule(
        "mongo.configuration",
        "type",
        under(_MONGO, names="ConfigurationError InvalidOperation ProtocolError"),
        PERMANENT,
        "MongoDB is used or configured wrongly",
        _LIB,
    ),
    Rule(
        "mongo.timeout",
        "type",
        under(_MONGO, names="ExecutionTimeout WTimeoutError CursorNotFound"),
        TRANSIENT,
        "the operation took too long",
        _LIB,
    ),
    Rule(
        "mongo.connection",
        "fallback",
        under(
            _MONGO,
            names="ConnectionFailure AutoReconnect NetworkTimeout ServerSelectionTimeoutError "
            "NotPrimaryError",
        ),
        NETWORK,
        "no server of the set can be reached",
        _LIB,
        confidence=0.9,
    ),
    Rule(
        "mongo.any",
        "fallback",
        under(_MONGO, names="OperationFailure PyMongoError"),
        TRANSIENT,
        "MongoDB failed without a known code",
        _LIB,
        confidence=0.4,
    ),
)
