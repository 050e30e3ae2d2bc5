"""Rules for memcached: what its protocol tells apart, as its clients pass it on."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import NETWORK, PERMANENT, RESOURCE, VALIDATION, Rule, under

_PROTOCOL: Final = "https://github.com/memcached/memcached/blob/master/doc/protocol.txt"
_CLIENTS: Final = ("pymemcache", "bmemcached", "aiomcache", "pylibmc", "_pylibmc", "emcache")

RULES: Final = (
    Rule(
        "memcached.too-large",
        "text",
        _CLIENTS,
        VALIDATION,
        "the value is larger than the server takes",
        _PROTOCOL,
        text=r"object too large|too large for cache|key is too long|\btoo big\b",
    ),
    Rule(
        "memcached.memory",
        "text",
        _CLIENTS,
        RESOURCE,
        "the server has no memory left",
        _PROTOCOL,
        text=r"out of memory|memory allocation failure",
    ),
    Rule(
        "memcached.client",
        "base",
        (
            *under("pymemcache.exceptions", names="MemcacheClientError"),
            *under("aiomcache.exceptions", names="ValidationException"),
            *under(
                "_pylibmc",
                names="BadKeyProvided BadArgument ProtocolError InvalidArguments NotSupportedError",
            ),
        ),
        PERMANENT,
        "the server did not understand the command",
        _PROTOCOL,
    ),
    Rule(
        "memcached.closed",
        "base",
        (
            *under("pymemcache.exceptions", names="MemcacheUnexpectedCloseError"),
            *under("_pylibmc", names="HostLookupError ConnectionError ServerDead ServerDown NoServers"),
        ),
        NETWORK,
        "the connection to the server ended",
        _PROTOCOL,
    ),
)
