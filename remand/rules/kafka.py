"""Rules for Kafka: the classes of kafka-python and aiokafka, and their own word on retries."""

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
_KAFKA: Final = ("kafka.errors", "aiokafka.errors")

RULES: Final = (
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
            names="ThrottlingQuotaExceededError KafkaStorageError QuotaViolationError",
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
            names="PolicyViolationError MessageSizeTooLargeError RecordListTooLargeError InvalidMessageError "
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
