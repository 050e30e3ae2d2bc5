"""Rules for Redis, AMQP, Kafka, MongoDB and the search engines."""

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
_REDIS_SOURCE: Final = "redis-py EXCEPTION_CLASSES; redis.io/docs"
_AMQP_SOURCE: Final = "AMQP 0-9-1 section 1.8, reply codes"
_MONGO_SOURCE: Final = "pymongo helpers_shared.py; MongoDB manual, error codes"
_REDIS: Final = ("redis.exceptions", "valkey.exceptions")
_AMQP: Final = ("amqp.exceptions", "pika.exceptions", "aio_pika.exceptions", "aiormq.exceptions")
_MONGO: Final = "pymongo.errors"
_KAFKA: Final = ("kafka.errors", "aiokafka.errors")
_SEARCH: Final = (
    "elasticsearch",
    "elasticsearch.exceptions",
    "opensearchpy.exceptions",
    "elastic_transport",
    "elastic_transport._exceptions",
)

_REDIS_RULES: Final = (
    Rule(
        "redis.denied",
        "type",
        under(
            *_REDIS,
            names="AuthenticationError AuthorizationError NoPermissionError "
            "AuthenticationWrongNumberOfArgsError",
        ),
        PERMISSION,
        "Redis refuses the login or the right",
        _REDIS_SOURCE,
    ),
    Rule(
        "redis.loading",
        "type",
        under(
            *_REDIS,
            names="BusyLoadingError ClusterDownError MasterDownError SlotNotCoveredError ReadOnlyError",
        ),
        TRANSIENT,
        "Redis is loading, failing over or reconfiguring",
        _REDIS_SOURCE,
    ),
    Rule(
        "redis.moved",
        "type",
        under(*_REDIS, names="MovedError AskError TryAgainError"),
        TRANSIENT,
        "the key moved to another node",
        _REDIS_SOURCE,
        IMMEDIATE,
    ),
    Rule(
        "redis.watch",
        "type",
        under(*_REDIS, names="WatchError"),
        TRANSIENT,
        "a watched key changed; run it again",
        _REDIS_SOURCE,
        IMMEDIATE,
    ),
    Rule(
        "redis.lock",
        "type",
        under(*_REDIS, names="LockError"),
        TRANSIENT,
        "somebody else holds the lock",
        _REDIS_SOURCE,
    ),
    Rule(
        "redis.memory",
        "type",
        under(*_REDIS, names="OutOfMemoryError"),
        RESOURCE,
        "Redis has used up its memory",
        _REDIS_SOURCE,
    ),
    Rule(
        "redis.own-pool",
        "type",
        under(*_REDIS, names="MaxConnectionsError"),
        RESOURCE,
        "no free connection to Redis",
        _REDIS_SOURCE,
        EXPONENTIAL,
    ),
    Rule(
        "redis.data",
        "type",
        under(*_REDIS, names="DataError InvalidData"),
        VALIDATION,
        "the value cannot be sent to Redis",
        _REDIS_SOURCE,
    ),
    Rule(
        "redis.usage",
        "type",
        under(
            *_REDIS,
            names="ClusterCrossSlotError CrossSlotTransactionError ModuleError NoScriptError "
            "InvalidPipelineStack "
            "PubSubError RedisClusterException",
        ),
        PERMANENT,
        "Redis is used or configured wrongly",
        _REDIS_SOURCE,
        confidence=0.85,
    ),
    Rule(
        "redis.timeout",
        "type",
        under(*_REDIS, names="TimeoutError"),
        NETWORK,
        "Redis did not answer in time",
        _REDIS_SOURCE,
    ),
    Rule(
        "redis.connection-full",
        "type",
        under(*_REDIS, names="ConnectionError"),
        RESOURCE,
        "no free connection to Redis",
        _REDIS_SOURCE,
        EXPONENTIAL,
        text=r"too many connections|max number of clients|no connection available",
    ),
    Rule(
        "redis.connection-denied",
        "type",
        under(*_REDIS, names="ConnectionError"),
        PERMISSION,
        "Redis refuses the login",
        _REDIS_SOURCE,
        text=r"WRONGPASS|NOAUTH|invalid password|authentication required",
    ),
    Rule(
        "redis.connection",
        "fallback",
        under(*_REDIS, names="ConnectionError"),
        NETWORK,
        "the connection to Redis failed",
        _REDIS_SOURCE,
    ),
    Rule(
        "redis.busy",
        "type",
        under(*_REDIS, names="ResponseError"),
        TRANSIENT,
        "Redis is busy, loading or failing over",
        _REDIS_SOURCE,
        text=r"^(BUSY|LOADING|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|NOREPLICAS|UNBLOCKED|FAILOVER)\b",
    ),
    Rule(
        "redis.response-memory",
        "type",
        under(*_REDIS, names="ResponseError"),
        RESOURCE,
        "Redis is out of memory or disk",
        _REDIS_SOURCE,
        text=r"^(OOM|MISCONF)\b|used memory > 'maxmemory'|max number of clients",
    ),
    Rule(
        "redis.response-denied",
        "type",
        under(*_REDIS, names="ResponseError"),
        PERMISSION,
        "Redis refuses the login or the right",
        _REDIS_SOURCE,
        text=r"^(NOAUTH|WRONGPASS|NOPERM)\b|operation not permitted|invalid password",
    ),
    Rule(
        "redis.response-exec",
        "type",
        under(*_REDIS, names="ExecAbortError"),
        PERMANENT,
        "a command of the transaction was refused",
        _REDIS_SOURCE,
        confidence=0.7,
    ),
    Rule(
        "redis.response",
        "type",
        under(*_REDIS, names="ResponseError"),
        PERMANENT,
        "Redis refuses the command",
        _REDIS_SOURCE,
        confidence=0.85,
    ),
    Rule(
        "redis.any",
        "fallback",
        under(*_REDIS, names="RedisError"),
        TRANSIENT,
        "Redis failed without saying how",
        _REDIS_SOURCE,
        confidence=0.5,
    ),
)

_AMQP_RULES: Final = (
    Rule("amqp.connection-code", "amqp", (320,), NETWORK, "the broker closed the connection", _AMQP_SOURCE),
    Rule("amqp.too-large", "amqp", (311,), VALIDATION, "the message is too large", _AMQP_SOURCE),
    Rule(
        "amqp.no-consumers",
        "amqp",
        (312, 313),
        PERMANENT,
        "the message has no route or consumer",
        _AMQP_SOURCE,
        confidence=0.7,
    ),
    Rule(
        "amqp.denied", "amqp", (403,), PERMISSION, "the broker refuses the login or the right", _AMQP_SOURCE
    ),
    Rule(
        "amqp.missing",
        "amqp",
        (402, 404, 530),
        PERMANENT,
        "the queue, exchange or virtual host does not exist or may not be used so",
        _AMQP_SOURCE,
    ),
    Rule(
        "amqp.locked",
        "amqp",
        (405,),
        TRANSIENT,
        "another connection holds the queue",
        _AMQP_SOURCE,
        confidence=0.8,
    ),
    Rule(
        "amqp.precondition", "amqp", (406,), PERMANENT, "the queue exists with other settings", _AMQP_SOURCE
    ),
    Rule(
        "amqp.slow-ack",
        "amqp",
        (406,),
        TRANSIENT,
        "the broker cut a slow consumer and delivers again",
        _AMQP_SOURCE,
        text=r"delivery acknowledgement|consumer_timeout|unknown delivery tag",
    ),
    Rule(
        "amqp.protocol",
        "amqp",
        (501, 502, 503, 504, 505, 540),
        PERMANENT,
        "the AMQP conversation is out of order",
        _AMQP_SOURCE,
        confidence=0.8,
    ),
    Rule("amqp.resources", "amqp", (506,), RESOURCE, "the broker is short of resources", _AMQP_SOURCE),
    Rule("amqp.internal", "amqp", (541,), TRANSIENT, "the broker met an internal error", _AMQP_SOURCE),
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

_KAFKA_RULES: Final = (
    Rule(
        "kafka.denied",
        "type",
        under(
            *_KAFKA,
            names="TopicAuthorizationFailedError GroupAuthorizationFailedError "
            "ClusterAuthorizationFailedError AuthenticationFailedError "
            "SaslAuthenticationFailedError AuthenticationMethodNotSupported "
            "TransactionalIdAuthorizationFailedError DelegationTokenAuthorizationFailedError"
            " TopicAuthorizationFailed",
        ),
        PERMISSION,
        "Kafka refuses the login or the right",
        _LIB,
    ),
    Rule(
        "kafka.network",
        "type",
        under(
            *_KAFKA,
            names="NoBrokersAvailable KafkaConnectionError ConnectionError NodeNotReadyError "
            "RequestTimedOutError KafkaTimeoutError "
            "NetworkExceptionError BrokerNotAvailableError KafkaProtocolError",
        ),
        NETWORK,
        "no broker can be reached",
        _LIB,
    ),
    Rule(
        "kafka.moving",
        "type",
        under(
            *_KAFKA,
            names="NotLeaderForPartitionError LeaderNotAvailableError "
            "GroupCoordinatorNotAvailableError NotCoordinatorForGroupError "
            "GroupLoadInProgressError RebalanceInProgressError NotEnoughReplicasError "
            "NotEnoughReplicasAfterAppendError CommitFailedError "
            "IllegalGenerationError UnknownMemberIdError StaleMetadata CoordinatorNotAvailableError "
            "NotControllerError ReplicaNotAvailableError",
        ),
        TRANSIENT,
        "Kafka is moving a partition or a group",
        _LIB,
    ),
    Rule(
        "kafka.full",
        "type",
        under(
            *_KAFKA,
            names="ThrottlingQuotaExceededError PolicyViolationError KafkaStorageError QuotaViolationError",
        ),
        RESOURCE,
        "Kafka limits the client or its disk is full",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "kafka.data",
        "type",
        under(
            *_KAFKA,
            names="MessageSizeTooLargeError RecordListTooLargeError InvalidMessageError "
            "CorruptRecordException InvalidTopicError "
            "RecordTooLargeError MessageSizeTooLarge OffsetOutOfRangeError UnsupportedCodecError "
            "InvalidConfigurationError InvalidPartitionsError",
        ),
        VALIDATION,
        "Kafka refuses the message or the name",
        _LIB,
        confidence=0.85,
    ),
    Rule(
        "kafka.retriable",
        "flag",
        ("kafka:true", "aiokafka:true"),
        TRANSIENT,
        "the client marks the error as one to retry",
        "kafka-python: errors.retriable",
    ),
    Rule(
        "kafka.final",
        "flag",
        ("kafka:false", "aiokafka:false"),
        PERMANENT,
        "the client marks the error as final",
        "kafka-python: errors.retriable",
        confidence=0.8,
    ),
)

_MONGO_RULES: Final = (
    Rule(
        "mongo.transaction",
        "label",
        ("TransientTransactionError",),
        TRANSIENT,
        "the server says to run the transaction again",
        _MONGO_SOURCE,
        IMMEDIATE,
    ),
    Rule(
        "mongo.retryable",
        "label",
        ("RetryableWriteError", "UnknownTransactionCommitResult", "ResumableChangeStreamError"),
        TRANSIENT,
        "the server says to try again",
        _MONGO_SOURCE,
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
        _MONGO_SOURCE,
    ),
    Rule(
        "mongo.conflict",
        "mongo",
        (112, 24, 46, 251, 225),
        TRANSIENT,
        "the write met another one; run it again",
        _MONGO_SOURCE,
        IMMEDIATE,
    ),
    Rule("mongo.time", "mongo", (50, 202, 43), TRANSIENT, "the operation took too long", _MONGO_SOURCE),
    Rule(
        "mongo.denied",
        "mongo",
        (13, 18, 33, 8000),
        PERMISSION,
        "MongoDB refuses the login or the right",
        _MONGO_SOURCE,
    ),
    Rule(
        "mongo.data",
        "mongo",
        (2, 9, 14, 22, 52, 57, 121, 11000, 11001, 12582, 10334, 17280, 28, 66),
        VALIDATION,
        "MongoDB refuses the document",
        _MONGO_SOURCE,
    ),
    Rule(
        "mongo.resources",
        "mongo",
        (146, 14031, 39, 292, 216),
        RESOURCE,
        "MongoDB is short of memory or disk",
        _MONGO_SOURCE,
    ),
    Rule(
        "mongo.missing",
        "mongo",
        (26, 27, 48, 59, 72, 85, 86, 20, 115, 263, 73, 76),
        PERMANENT,
        "the collection, index or command is not there or not so",
        _MONGO_SOURCE,
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

_SEARCH_RULES: Final = (
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
        ("elasticsearch.helpers.errors.BulkIndexError", "opensearchpy.helpers.errors.BulkIndexError"),
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

RULES: Final = _REDIS_RULES + _AMQP_RULES + _KAFKA_RULES + _MONGO_RULES + _SEARCH_RULES
