"""Rules for Kafka: the classes of kafka-python and aiokafka, and their own word on retries."""

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

_LIB: Final = "the libraries' class trees"
_KAFKA: Final = ("kafka.errors", "aiokafka.errors")

_PROTOCOL: Final = "https://kafka.apache.org/protocol#protocol_error_codes"
_RDKAFKA: Final = "librdkafka, rdkafka.h"


def _numbers(numbers: str) -> tuple[str, ...]:
    return tuple(f"KAFKA-{number}" for number in numbers.split())


_NUMBERED: Final = (
    Rule(
        "kafka.number-network",
        "vendor",
        _numbers("7 8 13 -195 -192 -187 -185 -166 -196"),
        NETWORK,
        "no broker can be reached",
        f"{_PROTOCOL}; {_RDKAFKA}",
    ),
    Rule(
        "kafka.number-name",
        "vendor",
        _numbers("-193"),
        NETWORK,
        "the name of a broker was not found",
        _RDKAFKA,
        confidence=0.7,
    ),
    Rule(
        "kafka.number-moving",
        "vendor",
        _numbers(
            "2 3 5 6 9 14 15 16 19 20 22 25 27 41 51 56 70 71 72 74 75 76 77 78 79 80 82 "
            "88 94 95 97 98 100 103 106 110 -1 -180 -175 -174 -173 -168 "
            "-167 -152 -151 -148 -147 -143 -142 -139 -198"
        ),
        TRANSIENT,
        "Kafka is moving a partition or a group, or marks the error as one to retry",
        f"{_PROTOCOL}; {_RDKAFKA}",
    ),
    Rule(
        "kafka.number-full",
        "vendor",
        _numbers("89 81 -184 -177 -191"),
        RESOURCE,
        "Kafka limits the client, or the client's own queue is full",
        f"{_PROTOCOL}; {_RDKAFKA}",
        EXPONENTIAL,
    ),
    Rule(
        "kafka.number-denied",
        "vendor",
        _numbers("29 30 31 33 34 53 54 58 61 62 63 64 65 66 67 -169 -181"),
        PERMISSION,
        "Kafka refuses the login or the right",
        f"{_PROTOCOL}; {_RDKAFKA}",
    ),
    Rule(
        "kafka.number-data",
        "vendor",
        _numbers(
            "1 4 10 17 18 21 24 26 28 32 36 37 38 39 40 42 43 44 45 46 52 60 84 85 86 87 99 "
            "107 -186 -199 -197 -161 -155 -162"
        ),
        VALIDATION,
        "Kafka refuses the message, the name or the setting",
        f"{_PROTOCOL}; {_RDKAFKA}",
    ),
    Rule(
        "kafka.number-final",
        "vendor",
        _numbers(
            "-188 -190 12 23 35 47 48 49 50 55 57 59 68 69 73 83 90 91 92 93 96 101 102 104 "
            "105 108 109 -194 -189 -183 -182 -179 -178 -176 -172 -171 -170 -165 -164 "
            "-163 -160 -159 -158 -157 -156 -154 -153 -150 -149 -146 -145 -144 -141 -140 -138"
        ),
        PERMANENT,
        "Kafka or the client says that this cannot be done",
        f"{_PROTOCOL}; {_RDKAFKA}",
        confidence=0.85,
    ),
)

RULES: Final = (
    *_NUMBERED,
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
