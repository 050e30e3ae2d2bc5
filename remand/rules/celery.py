"""Rules for Celery, kombu and billiard, for docker, and for libraries that wrap retries."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import EXPONENTIAL, NETWORK, PERMANENT, RESOURCE, TRANSIENT, VALIDATION, Rule, under

_CELERY: Final = "celery.exceptions"
_KOMBU: Final = "kombu.exceptions"
_BILLIARD: Final = "billiard.exceptions"
_LIB: Final = "the libraries' class trees"

RULES: Final = (
    Rule(
        "celery.unregistered",
        "type",
        (
            f"{_CELERY}.NotRegistered",
            f"{_CELERY}.ImproperlyConfigured",
            f"{_CELERY}.QueueNotFound",
            f"{_CELERY}.NotConfigured",
            f"{_CELERY}.IncompleteStream",
        ),
        PERMANENT,
        "the worker does not know the task or is configured wrongly",
        _LIB,
        confidence=0.9,
    ),
    Rule(
        "celery.exhausted",
        "type",
        (f"{_CELERY}.MaxRetriesExceededError", f"{_CELERY}.TaskPredicate"),
        PERMANENT,
        "another retry ladder has already been climbed; no second one is started",
        "celery/celery#5061",
    ),
    Rule(
        "celery.revoked",
        "type",
        (
            f"{_CELERY}.TaskRevokedError",
            f"{_CELERY}.Ignore",
            f"{_CELERY}.Reject",
            f"{_CELERY}.AlreadyRegistered",
            f"{_CELERY}.InvalidTaskError",
            f"{_CELERY}.CPendingDeprecationWarning",
        ),
        PERMANENT,
        "the task was called off on purpose",
        "celery/celery#4300",
    ),
    Rule(
        "celery.soft-limit",
        "type",
        (
            f"{_CELERY}.SoftTimeLimitExceeded",
            f"{_BILLIARD}.SoftTimeLimitExceeded",
            f"{_BILLIARD}.TimeLimitExceeded",
            f"{_CELERY}.TimeLimitExceeded",
        ),
        RESOURCE,
        "the task ran into Celery's time limit",
        "celery/celery#3914",
    ),
    Rule(
        "celery.lost",
        "type",
        (
            f"{_BILLIARD}.WorkerLostError",
            f"{_CELERY}.WorkerLostError",
            f"{_BILLIARD}.Terminated",
            f"{_CELERY}.Terminated",
        ),
        RESOURCE,
        "the pool process died, often for its memory",
        "celery/billiard#322",
    ),
    Rule(
        "celery.lost-killed",
        "type",
        (f"{_BILLIARD}.WorkerLostError", f"{_CELERY}.WorkerLostError"),
        RESOURCE,
        "the pool process was killed, most likely for its memory",
        "celery/billiard#322",
        EXPONENTIAL,
        text=r"SIGKILL|signal 9\b",
    ),
    Rule(
        "celery.shutdown",
        "type",
        (f"{_CELERY}.WorkerShutdown", f"{_CELERY}.WorkerTerminate"),
        TRANSIENT,
        "the worker is being stopped; another can take the step",
        _LIB,
        "immediate",
    ),
    Rule(
        "celery.timeout",
        "type",
        (f"{_CELERY}.TimeoutError", f"{_BILLIARD}.TimeoutError"),
        TRANSIENT,
        "a result did not come in time",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "celery.backend",
        "fallback",
        (
            f"{_CELERY}.BackendError",
            f"{_CELERY}.BackendGetMetaError",
            f"{_CELERY}.BackendStoreError",
            f"{_CELERY}.ChordError",
            f"{_CELERY}.CeleryError",
        ),
        NETWORK,
        "the result backend failed",
        "celery/celery#609",
        confidence=0.8,
    ),
    Rule(
        "celery.security",
        "type",
        (f"{_CELERY}.SecurityError",),
        "permission",
        "a message is not signed as it must be",
        _LIB,
    ),
    Rule(
        "kombu.data",
        "type",
        under(
            _KOMBU,
            names="EncodeError DecodeError SerializationError SerializerNotInstalled "
            "ContentDisallowed NotBoundError",
        ),
        VALIDATION,
        "the message cannot be encoded or decoded",
        _LIB,
    ),
    Rule(
        "kombu.limit",
        "type",
        under(_KOMBU, names="LimitExceeded ConnectionLimitExceeded ChannelLimitExceeded"),
        RESOURCE,
        "the program's own pool of broker connections is used up",
        _LIB,
        EXPONENTIAL,
    ),
    Rule(
        "kombu.connection",
        "fallback",
        under(_KOMBU, names="OperationalError ConnectionError InconsistencyError KombuError ChannelError"),
        NETWORK,
        "the broker cannot be reached",
        _LIB,
        confidence=0.8,
    ),
    Rule(
        "kombu.version",
        "type",
        under(_KOMBU, names="VersionMismatch HttpError"),
        PERMANENT,
        "broker and client do not fit",
        _LIB,
        confidence=0.7,
    ),
    Rule(
        "docker.missing",
        "fallback",
        under("docker.errors", names="NotFound ImageNotFound"),
        PERMANENT,
        "the image or container does not exist",
        _LIB,
    ),
    Rule(
        "docker.build",
        "type",
        under(
            "docker.errors",
            names="BuildError InvalidArgument InvalidRepository InvalidVersion InvalidConfigFile "
            "DockerfileParse TLSParameterError "
            "NullResource MissingContextParameter ContextAlreadyExists ContextNotFound",
        ),
        PERMANENT,
        "docker was asked for something that cannot work",
        _LIB,
        confidence=0.85,
    ),
    Rule(
        "docker.any",
        "fallback",
        under("docker.errors", names="APIError DockerException StreamParseError"),
        TRANSIENT,
        "docker failed",
        _LIB,
        confidence=0.5,
    ),
    Rule(
        "retry.exhausted",
        "fallback",
        ("tenacity.RetryError", "retrying.RetryError", "backoff.RetryError"),
        TRANSIENT,
        "a retry ladder inside the handler is used up",
        _LIB,
        confidence=0.5,
    ),
    Rule(
        "breaker.open",
        "type",
        (
            "pybreaker.CircuitBreakerError",
            "circuitbreaker.CircuitBreakerError",
            "purgatory.domain.model.OpenedState",
            "aiobreaker.state.CircuitBreakerError",
        ),
        TRANSIENT,
        "a circuit breaker inside the handler is open",
        _LIB,
    ),
    Rule(
        "limiter.full",
        "type",
        (
            "pyrate_limiter.exceptions.BucketFullException",
            "ratelimit.exception.RateLimitException",
            "limits.errors.StorageError",
            "filelock._error.Timeout",
            "redis_lock.NotAcquired",
        ),
        RESOURCE,
        "a limiter or lock inside the handler has no room",
        _LIB,
        EXPONENTIAL,
    ),
)
