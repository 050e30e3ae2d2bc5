"""Redis, AMQP through two clients, Kafka, kombu, Celery and billiard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.libraries.cases import Case, caused, family

BACKOFF = "network/exponential transient/exponential resource/exponential"
BOUNDED = "transient/exponential resource/linear resource/exponential network/exponential"
NEVER = "permanent/never validation/never permission/never"
RECONNECT = "network/immediate network/exponential transient/exponential transient/immediate"


@family("redis", "redis.io documentation, error replies; redis-py's class tree")
def redis_cases() -> Iterator[Case]:
    import redis
    from redis import exceptions as rx
    from redis.sentinel import MasterNotFoundError

    for text, expected, also in (
        ("ERR syntax error", "permanent/never", NEVER), ("ERR unknown command 'FOO'", "permanent/never", NEVER),
        ("ERR value is not an integer or out of range", "validation/never", NEVER), ("ERR max number of clients reached", "resource/exponential", BOUNDED),
        ("BUSYGROUP Consumer Group name already exists", "permanent/never", NEVER), ("BUSYKEY Target key name already exists.", "permanent/never", NEVER),
        ("NOGROUP No such key 's' or consumer group 'g'", "permanent/never", NEVER), ("CROSSSLOT Keys in request don't hash to the same slot", "permanent/never", NEVER),
        ("NOREPLICAS Not enough good replicas to write.", "transient/exponential", BOUNDED), ("LOADING Redis is loading the dataset in memory", "transient/exponential", BOUNDED),
        ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "transient/exponential", BOUNDED),
        ("OOM command not allowed when used memory > 'maxmemory'.", "resource/linear", BOUNDED), ("NOAUTH Authentication required.", "permission/never", ""),
        ("NOPERM User app has no permissions to access the 'k' key", "permission/never", ""), ("READONLY You can't write against a read only replica.", "transient/exponential", BOUNDED),
        ("TRYAGAIN Multiple keys request during rehashing of slot", "transient/exponential", f"{BOUNDED} transient/immediate"),
        ("CLUSTERDOWN Hash slot not served", "transient/exponential", BOUNDED), ("NOSCRIPT No matching script. Please use EVAL.", "permanent/never", f"{NEVER} transient/immediate"),
        ("EXECABORT Transaction discarded because of previous errors.", "permanent/never", NEVER), ("UNBLOCKED force unblock from blocking operation", "transient/exponential", f"{BOUNDED} transient/immediate"),
        ("DENIED Redis is running in protected mode", "permission/never", NEVER), ("ERR DB index is out of range", "permanent/never", NEVER),
        ("INPROG Failover already in progress", "transient/exponential", BOUNDED), ("NOGOODSLAVE No suitable replica to promote", "transient/exponential", BOUNDED),
        ("IOERR error or timeout reading to target instance", "transient/exponential", BOUNDED), ("UNKILLABLE Sorry the script already executed write commands", "transient/exponential", f"{BOUNDED} permanent/never"),
    ):  # fmt: skip
        yield Case(expected, rx.ResponseError(text), also, text)
    yield Case("network/exponential", rx.ConnectionError("Connection closed by server."), RECONNECT)
    yield Case("network/exponential", rx.ConnectionError("Error 104 while writing to socket. Connection reset by peer."), RECONNECT)
    yield Case("network/exponential", rx.ConnectionError("Error -3 connecting to redis:6379. Temporary failure in name resolution."), BACKOFF)
    yield Case("permanent/never", rx.ConnectionError("Error -2 connecting to redis:6379. Name or service not known."), f"{NEVER} network/exponential")
    yield Case("permanent/never", rx.ConnectionError("Error 1 connecting to redis:6379. [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), NEVER)
    yield Case("resource/exponential", rx.ConnectionError("max number of clients reached"), BOUNDED)
    yield Case("network/exponential", rx.TimeoutError("Timeout connecting to server"), BACKOFF)
    yield Case("network/exponential", rx.InvalidResponse("Protocol Error: b'x'"), f"{RECONNECT} permanent/never")
    yield Case("transient/exponential", rx.LockNotOwnedError("Cannot release a lock that's no longer owned"), f"{BOUNDED} {NEVER} transient/immediate")
    yield Case("transient/immediate", rx.AskError("3999 127.0.0.1:6381"), RECONNECT)
    yield Case("transient/exponential", rx.MasterDownError("Link with MASTER is down"), BOUNDED)
    yield Case("network/exponential", MasterNotFoundError("No master found for 'mymaster'"), BOUNDED)
    yield Case("network/exponential", rx.RedisClusterException("Redis Cluster cannot be connected. Please provide at least one reachable node"), f"{BOUNDED}")
    yield Case("transient/exponential", rx.ClusterError("TTL exhausted."), BOUNDED)
    yield Case("transient/exponential", rx.SlotNotCoveredError('Slot "1" is not covered by the cluster.'), BOUNDED)
    yield Case("permanent/never", rx.NoScriptError("No matching script."), f"{NEVER} transient/immediate")
    yield Case("permission/never", rx.AuthorizationError("no"), "")
    yield Case("permanent/never", rx.ModuleError("Error loading the extension."), NEVER)
    yield Case("permanent/never", rx.PubSubError("pubsub connection not set"), f"{NEVER} {RECONNECT}")
    yield Case("validation/never", redis.exceptions.DataError("Invalid input of type: 'NoneType'."), NEVER)


@family("amqp", "AMQP 0-9-1 section 1.8, reply codes")
def amqp_cases() -> Iterator[Case]:
    from amqp import exceptions as ax

    for name, text, expected, also in (
        ("ConnectionForced", "CONNECTION_FORCED - broker forced connection closure", "network/exponential", RECONNECT),
        ("AccessRefused", "ACCESS_REFUSED - Login was refused", "permission/never", ""), ("NotFound", "NOT_FOUND - no queue 'q'", "permanent/never", NEVER),
        ("ResourceLocked", "RESOURCE_LOCKED - cannot obtain exclusive access", "transient/exponential", f"{BOUNDED} permanent/never"),
        ("PreconditionFailed", "PRECONDITION_FAILED - inequivalent arg 'durable'", "permanent/never", NEVER),
        ("NotAllowed", "NOT_ALLOWED - vhost x not found", "permanent/never", NEVER), ("ContentTooLarge", "told", "validation/never", NEVER),
        ("InvalidPath", "told", "permanent/never", NEVER), ("FrameSyntaxError", "told", "permanent/never", f"{NEVER} {RECONNECT}"),
        ("AMQPNotImplementedError", "told", "permanent/never", NEVER), ("InternalError", "INTERNAL_ERROR", "transient/exponential", BOUNDED),
        ("ResourceError", "told", "resource/linear", BOUNDED), ("RecoverableConnectionError", "Socket was disconnected", "network/exponential", RECONNECT),
        ("IrrecoverableConnectionError", "told", "permanent/never", NEVER), ("ConsumerCancelled", "told", "network/exponential", RECONNECT),
        ("MessageNacked", "told", "transient/exponential", BOUNDED), ("InvalidCommand", "told", "permanent/never", NEVER),
    ):  # fmt: skip
        kind: Any = getattr(ax, name)
        yield Case(expected, kind(text) if name == "MessageNacked" else kind(text, (60, 40)), also, name)
    slow = "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out"
    yield Case("transient/exponential", ax.PreconditionFailed(slow, (0, 0)), BOUNDED)


@family("pika", "pika.exceptions; AMQP 0-9-1 section 1.8")
def pika_cases() -> Iterator[Case]:
    from pika import exceptions as px

    yield Case("network/exponential", px.AMQPConnectionError("refused"), RECONNECT)
    yield Case("network/exponential", px.ConnectionClosedByBroker(320, "CONNECTION_FORCED"), RECONNECT)
    yield Case("permission/never", px.ConnectionClosedByBroker(403, "ACCESS_REFUSED"), "")
    yield Case("permanent/never", px.ConnectionClosedByBroker(530, "NOT_ALLOWED - vhost / not found"), NEVER)
    yield Case("network/exponential", px.ConnectionClosedByClient(200, "Normal shutdown"), f"{RECONNECT} permanent/never")
    yield Case("permission/never", px.ProbableAuthenticationError("refused"), "")
    yield Case("permission/never", px.ProbableAccessDeniedError("refused"), NEVER)
    yield Case("permanent/never", px.ChannelClosedByBroker(404, "NOT_FOUND - no queue"), NEVER)
    yield Case("permission/never", px.ChannelClosedByBroker(403, "ACCESS_REFUSED"), "")
    yield Case("permanent/never", px.ChannelClosedByBroker(406, "PRECONDITION_FAILED"), NEVER)
    yield Case("network/exponential", px.StreamLostError("Stream connection lost: ConnectionResetError(104)"), RECONNECT)
    yield Case("transient/exponential", px.NackError([]), BOUNDED)
    yield Case("permanent/never", px.UnroutableError([]), f"{NEVER} {BOUNDED}")
    yield Case("resource/linear", px.ConnectionBlockedTimeout("blocked"), BOUNDED)
    yield Case("network/exponential", px.AMQPHeartbeatTimeout("no heartbeat"), RECONNECT)
    yield Case("network/exponential", px.ConnectionWrongStateError("closed"), f"{RECONNECT} permanent/never")
    yield Case("network/exponential", px.ChannelWrongStateError("Channel is closed."), f"{RECONNECT} permanent/never")
    yield Case("permanent/never", px.IncompatibleProtocolError("StreamLostError"), f"{NEVER} {RECONNECT}")
    yield Case("permanent/never", px.DuplicateConsumerTag("t"), NEVER)
    yield Case("validation/never", px.InvalidFieldTypeException("bad"), NEVER)
    yield Case("validation/never", px.ShortStringTooLong("bad"), NEVER)


@family("kafka-python-ng", "Kafka protocol guide, error codes and their retriable column")
def kafka_cases() -> Iterator[Case]:
    from kafka import errors as kf

    again = "RequestTimedOutError LeaderNotAvailableError NotEnoughReplicasError NotEnoughReplicasAfterAppendError GroupCoordinatorNotAvailableError GroupLoadInProgressError NotCoordinatorForGroupError UnknownTopicOrPartitionError NotControllerError".split()  # noqa: SIM905
    for name in again:
        also = f"{BOUNDED} transient/immediate" + (f" {NEVER}" if name == "UnknownTopicOrPartitionError" else "")
        yield Case("transient/exponential", getattr(kf, name)(), also, name)
    for name in ["KafkaTimeoutError", "KafkaConnectionError", "NodeNotReadyError", "NetworkExceptionError"]:
        if hasattr(kf, name):
            yield Case("network/exponential", getattr(kf, name)("x"), BACKOFF, name)
    for name in ["RebalanceInProgressError", "CommitFailedError", "IllegalGenerationError", "UnknownMemberIdError"]:
        yield Case("transient/exponential", getattr(kf, name)(), f"{BOUNDED} {NEVER} transient/immediate", name)
    for name in "MessageSizeTooLargeError RecordListTooLargeError InvalidTopicError OffsetOutOfRangeError InvalidPartitionsError InvalidReplicationFactorError TopicAlreadyExistsError PolicyViolationError OffsetMetadataTooLargeError InvalidTimestampError".split():  # noqa: SIM905
        yield Case("validation/never", getattr(kf, name)(), f"{NEVER}", name)
    yield Case("network/exponential", kf.CorruptRecordException(), f"{BOUNDED} {NEVER}", "a checksum; retriable")
    for name in ["GroupAuthorizationFailedError", "ClusterAuthorizationFailedError", "AuthenticationFailedError"]:
        yield Case("permission/never", getattr(kf, name)(), "", name)
    for name in "UnsupportedVersionError IncompatibleBrokerVersion KafkaConfigurationError IllegalStateError UnsupportedCodecError InconsistentGroupProtocolError".split():  # noqa: SIM905
        yield Case("permanent/never", getattr(kf, name)("x"), NEVER, name)


@family("kombu", "kombu.exceptions")
def kombu_cases() -> Iterator[Case]:
    from amqp.exceptions import AccessRefused
    from kombu import exceptions as ke
    from redis import exceptions as rx

    yield Case("validation/never", ke.ContentDisallowed("Refusing to deserialize untrusted content of type pickle"), NEVER)
    yield Case("validation/never", ke.EncodeError("Object of type set is not JSON serializable"), NEVER)
    yield Case("permanent/never", ke.SerializerNotInstalled("No encoder installed for x"), NEVER)
    yield Case("permanent/never", ke.NotBoundError("Can't call method on Queue not bound to a channel"), NEVER)
    yield Case("resource/exponential", ke.ChannelLimitExceeded(10), BOUNDED)
    yield Case("resource/exponential", ke.ConnectionLimitExceeded(10), BOUNDED)
    yield Case("network/exponential", ke.OperationalError("[Errno 111] Connection refused"), RECONNECT)
    yield Case("permission/never", caused(ke.OperationalError("refused"), AccessRefused("no", (0, 0))), "")
    yield Case("permission/never", caused(ke.OperationalError("x"), rx.AuthenticationError("WRONGPASS")), "")
    yield Case("resource/linear", caused(ke.OperationalError("x"), rx.OutOfMemoryError("OOM")), BOUNDED)
    yield Case("network/exponential", ke.InconsistencyError("Cannot route message for exchange"), f"{BOUNDED} permanent/never")


@family("celery", "celery.exceptions, billiard.exceptions")
def celery_cases() -> Iterator[Case]:
    from billiard import exceptions as be
    from celery import exceptions as ce

    for exc, expected, also in (
        (ce.NotRegistered("app.tasks.add"), "permanent/never", NEVER), (ce.TaskRevokedError("revoked"), "permanent/never", ""),
        (ce.Ignore(), "permanent/never", ""), (ce.InvalidTaskError("bad"), "permanent/never", NEVER), (ce.ImproperlyConfigured("x"), "permanent/never", NEVER),
        (ce.QueueNotFound("q"), "permanent/never", NEVER), (ce.MaxRetriesExceededError("x"), "permanent/never", ""),
        (ce.BackendStoreError("failed to store"), "network/exponential", BOUNDED), (ce.BackendGetMetaError("failed"), "network/exponential", BOUNDED),
        (ce.SecurityError("Unable to verify"), "permission/never", NEVER), (ce.TimeoutError("The operation timed out."), "transient/exponential", BACKOFF),
        (ce.Retry("again", None, 30), "transient/exponential", BOUNDED), (ce.Retry("again", ConnectionError("x"), 30), "transient/exponential", BOUNDED),
        (ce.Reject("no", requeue=False), "permanent/never", ""), (ce.SoftTimeLimitExceeded(), "resource/linear", BOUNDED), (ce.TimeLimitExceeded(30), "resource/linear", BOUNDED),
        (be.WorkerLostError("Worker exited prematurely: signal 15 (SIGTERM) Job: 3."), "transient/exponential", f"{BOUNDED} transient/immediate resource/immediate"),
        (be.WorkerLostError("Worker exited prematurely: exitcode 1 Job: 3."), "resource/linear", f"{BOUNDED} transient/immediate resource/immediate"),
        (be.Terminated(15), "resource/linear", f"{BOUNDED} permanent/never"), (ce.ChordError("Dependency 1 raised ValueError('x')"), "network/exponential", f"{BOUNDED} {NEVER}"),
        (ce.IncompleteStream(), "permanent/never", f"{NEVER} {BOUNDED}"), (ce.WorkerTerminate(1), "transient/immediate", "transient/exponential"),
    ):  # fmt: skip
        yield Case(expected, exc, also, repr(exc))
    from celery.utils.serialization import UnpickleableExceptionWrapper as Wrapper

    yield Case("network/exponential", Wrapper("requests.exceptions", "ReadTimeout", ("x",), "ReadTimeout('x')"), BACKOFF)
    yield Case("permission/never", Wrapper("redis.exceptions", "AuthenticationError", ("x",), "AuthenticationError('x')"), "")
