"""Rules for Elasticsearch and OpenSearch: error types, and the classes of their clients."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    IMMEDIATE,
    NETWORK,
    PERMANENT,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
    under,
)

_LIB: Final = "the libraries' class trees"
_SEARCH: Final = (
    "elasticsearch",
    "elasticsearch.exceptions",
    "opensearchpy.exceptions",
    "elastic_transport",
    "elastic_transport._exceptions",
)

RULES: Final = (
    Rule(
        "search.conflict",
        "api_code",
        ("versionconflictengine",),
        TRANSIENT,
        "the document changed meanwhile; read it again",
        "Elasticsearch, optimistic concurrency control",
        IMMEDIATE,
    ),
    Rule(
        "search.busy",
        "api_code",
        ("esrejectedexecution", "opensearchrejectedexecution", "circuitbreaking", "rejectedexecution"),
        RESOURCE,
        "the search engine is overloaded",
        "Elasticsearch, rejected requests",
        EXPONENTIAL,
    ),
    Rule(
        "search.shards",
        "api_code",
        (
            "noshardavailableaction",
            "noshardavailable",
            "allshardsfailed",
            "masternotdiscovered",
            "processclustereventtimeout",
            "unavailableshards",
        ),
        TRANSIENT,
        "shards or the master are away",
        "Elasticsearch, cluster errors",
        confidence=0.7,
    ),
    Rule(
        "search.index",
        "api_code",
        ("indexnotfound", "aliasesnotfound"),
        PERMANENT,
        "the index does not exist",
        "Elasticsearch",
    ),
    Rule(
        "search.tls",
        "fallback",
        under(*_SEARCH, names="TlsError SSLError"),
        PERMANENT,
        "a certificate was refused",
        _LIB,
        confidence=0.85,
    ),
    Rule(
        "search.timeout",
        "type",
        under(*_SEARCH, names="ConnectionTimeout"),
        NETWORK,
        "the search engine did not answer in time",
        _LIB,
    ),
    Rule(
        "search.connection",
        "fallback",
        under(*_SEARCH, names="ConnectionError TransportError SniffingError"),
        NETWORK,
        "the search engine cannot be reached",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "search.data",
        "type",
        under(*_SEARCH, names="SerializationError UnsupportedProductError ImproperlyConfigured"),
        VALIDATION,
        "the data or the client's settings are refused",
        _LIB,
    ),
    Rule(
        "search.bulk",
        "fallback",
        (
            "elasticsearch.helpers.errors.BulkIndexError",
            "elasticsearch.helpers.BulkIndexError",
            "opensearchpy.helpers.errors.BulkIndexError",
        ),
        VALIDATION,
        "documents of a bulk request were refused",
        _LIB,
        confidence=0.6,
    ),
    Rule(
        "search.any",
        "fallback",
        under(*_SEARCH, names="ApiError"),
        TRANSIENT,
        "the search engine failed",
        _LIB,
        confidence=0.5,
    ),
)
