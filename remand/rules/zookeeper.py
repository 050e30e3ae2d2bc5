"""Rules for ZooKeeper: the codes of KeeperException as kazoo's classes."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
    under,
)

_SOURCE: Final = "ZooKeeper, KeeperException.Code; https://kazoo.readthedocs.io/en/latest/api/exceptions.html"
_KAZOO: Final = "kazoo.exceptions"

RULES: Final = (
    Rule(
        "zookeeper.network",
        "type",
        under(
            _KAZOO,
            names="ConnectionLoss OperationTimeoutError RequestTimeoutError ConnectionDropped "
            "ConnectionClosedError",
        )
        + under("kazoo.handlers.threading", "kazoo.handlers.utils", names="KazooTimeoutError"),
        NETWORK,
        "no server of the ensemble can be reached",
        _SOURCE,
    ),
    Rule(
        "zookeeper.session",
        "type",
        under(
            _KAZOO,
            names="SessionExpiredError SessionMovedError UnknownSessionError BadVersionError "
            "NotReadOnlyCallError "
            "RolledBackError ReconfigInProcessError NewConfigNoQuorumError "
            "SystemZookeeperError RuntimeInconsistency "
            "DataInconsistency CancelledError",
        ),
        TRANSIENT,
        "the session, the server or the node changed meanwhile",
        _SOURCE,
        confidence=0.85,
    ),
    Rule(
        "zookeeper.limited",
        "type",
        under(_KAZOO, names="ThrottledOpError QuotaExceededError LockTimeout"),
        RESOURCE,
        "a quota or a lock is not free",
        _SOURCE,
        EXPONENTIAL,
    ),
    Rule(
        "zookeeper.denied",
        "type",
        under(
            _KAZOO,
            names="NoAuthError AuthFailedError InvalidACLError SASLException SessionClosedRequireSaslError",
        ),
        PERMISSION,
        "ZooKeeper refuses the login or the right",
        _SOURCE,
    ),
    Rule(
        "zookeeper.data",
        "type",
        under(_KAZOO, names="NodeExistsError BadArgumentsError MarshallingError InvalidCallbackError"),
        VALIDATION,
        "ZooKeeper refuses the node",
        _SOURCE,
    ),
    Rule(
        "zookeeper.refused",
        "type",
        under(
            _KAZOO,
            names="NoNodeError NotEmptyError UnimplementedError NoChildrenForEphemeralsError NoWatcherError "
            "ReconfigDisabledError EphemeralOnLocalSessionError ConfigurationError APIError",
        ),
        PERMANENT,
        "the node is not there, or cannot do that",
        _SOURCE,
    ),
)
