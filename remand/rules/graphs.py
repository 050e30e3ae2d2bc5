"""Rules for Neo4j, by its status codes, and for Cassandra, by the errors of its native protocol."""

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

_NEO4J: Final = "https://neo4j.com/docs/status-codes/current/errors/all-errors/"
_NEO: Final = "neo4j.exceptions"
_CQL: Final = "Cassandra native protocol v5, section 9"
_CASSANDRA: Final = "https://docs.datastax.com/en/developer/python-driver/latest/api/cassandra/"

RULES: Final = (
    Rule(
        "neo4j.denied",
        "vendor",
        ("Neo.ClientError.Security",),
        PERMISSION,
        "Neo4j refuses the login or the right",
        _NEO4J,
    ),
    Rule(
        "neo4j.row",
        "vendor",
        (
            "Neo.ClientError.Schema.ConstraintValidationFailed",
            "Neo.ClientError.Statement.ParameterMissing",
            "Neo.ClientError.Statement.TypeError",
            "Neo.ClientError.Statement.ArithmeticError",
            "Neo.ClientError.Statement.ArgumentError",
            "Neo.ClientError.Statement.EntityNotFound",
            "Neo.ClientError.Statement.ConstraintVerificationFailed",
            "Neo.ClientError.Request.Invalid",
            "Neo.ClientError.Request.InvalidFormat",
        ),
        VALIDATION,
        "Neo4j refuses the data",
        _NEO4J,
    ),
    Rule(
        "neo4j.moved",
        "vendor",
        (
            "Neo.ClientError.Cluster",
            "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
            "Neo.ClientError.Transaction.TransactionTimedOut",
            "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
            "Neo.ClientError.Transaction.LockClientStopped",
            "Neo.ClientError.Transaction.TransactionTerminated",
            "Neo.ClientError.Database.DatabaseUnavailable",
        ),
        TRANSIENT,
        "the leader moved, or the transaction was ended from outside",
        _NEO4J,
    ),
    Rule(
        "neo4j.conflict",
        "vendor",
        ("Neo.TransientError.Transaction",),
        TRANSIENT,
        "the transaction met another one; run it again",
        _NEO4J,
        IMMEDIATE,
    ),
    Rule(
        "neo4j.full",
        "vendor",
        (
            "Neo.TransientError.General.OutOfMemoryError",
            "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
            "Neo.TransientError.General.StackOverFlowError",
            "Neo.TransientError.General.TransactionMemoryLimit",
            "Neo.TransientError.Request.NoThreadsAvailable",
            "Neo.TransientError.Request.ResourceExhaustion",
            "Neo.TransientError.Transaction.MaximumTransactionLimitReached",
        ),
        RESOURCE,
        "Neo4j is short of memory, threads or transactions",
        _NEO4J,
        EXPONENTIAL,
    ),
    Rule(
        "neo4j.network",
        "vendor",
        ("Neo.TransientError.Network",),
        NETWORK,
        "the servers of the cluster cannot talk",
        _NEO4J,
    ),
    Rule(
        "neo4j.transient",
        "vendor",
        ("Neo.TransientError", "Neo.DatabaseError"),
        TRANSIENT,
        "the server failed, or says that it will pass",
        _NEO4J,
        confidence=0.85,
    ),
    Rule(
        "neo4j.client",
        "vendor",
        ("Neo.ClientError",),
        PERMANENT,
        "the server says that the request is wrong",
        _NEO4J,
        confidence=0.9,
    ),
    Rule(
        "neo4j.connection",
        "fallback",
        under(_NEO, names="ServiceUnavailable SessionExpired RoutingServiceUnavailable IncompleteCommit"),
        NETWORK,
        "no server can be reached",
        "neo4j's class tree",
    ),
    Rule(
        "neo4j.no-server-of-a-kind",
        "type",
        under(_NEO, names="WriteServiceUnavailable ReadServiceUnavailable"),
        TRANSIENT,
        "the cluster has no server for that at the moment",
        "neo4j's class tree",
    ),
    Rule(
        "neo4j.pool",
        "type",
        under(_NEO, names="ConnectionAcquisitionTimeoutError ConnectionPoolError"),
        RESOURCE,
        "the program's own connection pool is used up",
        "neo4j's class tree",
        EXPONENTIAL,
    ),
    Rule(
        "neo4j.configuration",
        "type",
        under(
            _NEO,
            names="ConfigurationError AuthConfigurationError CertificateConfigurationError "
            "UnsupportedServerProduct",
        ),
        PERMANENT,
        "the driver is configured wrongly",
        "neo4j's class tree",
    ),
    Rule(
        "neo4j.misuse",
        "fallback",
        under(_NEO, names="ResultError SessionError TransactionError BrokenRecordError"),
        PERMANENT,
        "the driver is used wrongly",
        "neo4j's class tree",
        confidence=0.8,
    ),
    Rule(
        "cassandra.denied",
        "type",
        under("cassandra", names="AuthenticationFailed Unauthorized"),
        PERMISSION,
        "Cassandra refuses the login or the right",
        _CQL,
    ),
    Rule(
        "cassandra.replicas",
        "type",
        under(
            "cassandra",
            names="Unavailable ReadTimeout WriteTimeout ReadFailure WriteFailure CoordinationFailure Timeout "
            "OperationTimedOut CDCWriteFailure",
        )
        + under(
            "cassandra.protocol",
            names="UnavailableErrorMessage ReadTimeoutErrorMessage WriteTimeoutErrorMessage TruncateError "
            "IsBootstrappingErrorMessage ServerError ReadFailureMessage WriteFailureMessage",
        ),
        TRANSIENT,
        "too few replicas answered",
        _CQL,
    ),
    Rule(
        "cassandra.overloaded",
        "type",
        under("cassandra.protocol", names="OverloadedErrorMessage")
        + under("cassandra.cluster", names="NoConnectionsAvailable")
        + under("cassandra.pool", names="NoConnectionsAvailable")
        + under("cassandra.connection", names="ConnectionBusy"),
        RESOURCE,
        "the coordinator or the program's own pool is overloaded",
        _CQL,
        EXPONENTIAL,
    ),
    Rule(
        "cassandra.refused",
        "type",
        under(
            "cassandra",
            names="InvalidRequest ConfigurationException UnsupportedOperation FunctionFailure "
            "DependencyException "
            "UserFunctionDescriptor RequestValidationException",
        )
        + under("cassandra.protocol", names="SyntaxException ProtocolException PreparedQueryNotFound")
        + under("cassandra.cluster", names="UserTypeDoesNotExist QueryExhausted"),
        PERMANENT,
        "Cassandra says that the query is wrong",
        _CQL,
    ),
    Rule(
        "cassandra.exists",
        "type",
        under("cassandra", names="AlreadyExists"),
        VALIDATION,
        "there is already such a table or keyspace",
        _CQL,
    ),
    Rule(
        "cassandra.names",
        "type",
        under("cassandra", names="UnresolvableContactPoints"),
        PERMANENT,
        "no contact point is a known host name",
        _CASSANDRA,
        confidence=0.7,
    ),
    Rule(
        "cassandra.connection",
        "fallback",
        under("cassandra.cluster", names="NoHostAvailable")
        + under(
            "cassandra.connection",
            names="ConnectionException ConnectionShutdown ConnectionHeartbeatFailure CrcException",
        )
        + under("cassandra", names="DriverException"),
        NETWORK,
        "no host can be reached",
        _CASSANDRA,
        confidence=0.85,
    ),
)
