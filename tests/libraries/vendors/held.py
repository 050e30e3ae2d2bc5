"""The part that is held out: labelled with the other, never looked at while the rules were written."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from tests.libraries.vendors import Labelled, Vendor, vendor

HELD: list[Vendor] = []

NET = "network transient resource"

TRINO = """
USER_ERROR             SYNTAX_ERROR                 TrinoUserError    |permanent validation
USER_ERROR             TABLE_NOT_FOUND              TrinoUserError    |permanent validation
USER_ERROR             COLUMN_NOT_FOUND             TrinoUserError    |permanent validation
USER_ERROR             PERMISSION_DENIED            TrinoUserError    |permission
USER_ERROR             DIVISION_BY_ZERO             TrinoUserError    |permanent validation
USER_ERROR             INVALID_CAST_ARGUMENT        TrinoUserError    |validation permanent
USER_ERROR             TYPE_MISMATCH                TrinoUserError    |validation permanent
INTERNAL_ERROR         GENERIC_INTERNAL_ERROR       TrinoInternalError|transient
INTERNAL_ERROR         SERVER_SHUTTING_DOWN         TrinoInternalError|transient network
INTERNAL_ERROR         REMOTE_TASK_ERROR            TrinoInternalError|transient network
EXTERNAL               HIVE_METASTORE_ERROR         TrinoExternalError|transient network permanent
INSUFFICIENT_RESOURCES CLUSTER_OUT_OF_MEMORY        TrinoQueryError   |resource transient
INSUFFICIENT_RESOURCES QUERY_QUEUE_FULL             TrinoQueryError   |resource transient
INSUFFICIENT_RESOURCES NO_NODES_AVAILABLE           TrinoQueryError   |resource transient network
"""


@vendor(
    HELD,
    "trino",
    "https://github.com/trinodb/trino/blob/master/core/trino-spi/src/main/java/io/trino/spi/StandardErrorCode.java",
)
def trino() -> Iterator[Labelled]:
    import trino.exceptions as te

    for line in TRINO.strip().splitlines():
        left, right = line.split("|")
        kind, code, name = left.split()
        yield Labelled(
            right,
            getattr(te, name)(
                {"errorType": kind, "errorName": code, "errorCode": 1, "message": "told by the server"},
                "20260101_1",
            ),
            code,
        )
    yield Labelled("permission", te.TrinoAuthError("Error 401: Unauthorized"))
    yield Labelled(
        NET,
        te.TrinoConnectionError(
            "failed to execute: HTTPConnectionPool(host='x', port=8080): Max retries exceeded"
        ),
    )
    yield Labelled("transient network", te.Http503Error("error 503: service unavailable"))
    yield Labelled("transient network", te.Http502Error("error 502: bad gateway"))
    yield Labelled("transient network", te.Http504Error("error 504: gateway timeout"))


@vendor(HELD, "hvac", "https://developer.hashicorp.com/vault/api-docs#http-status-codes; hvac/exceptions.py")
def vault() -> Iterator[Labelled]:
    import hvac.exceptions as he

    for name, errors, right in (
        ("InvalidRequest", ["missing client token"], "validation permanent permission"), ("Unauthorized", ["unauthorized"], "permission"), ("Forbidden", ["permission denied"], "permission"), ("InvalidPath", [], "permanent validation"),
        ("RateLimitExceeded", ["request path rate limited"], "resource"), ("InternalServerError", ["internal error"], "transient"), ("VaultNotInitialized", ["server is not yet initialized"], "permanent transient"),
        ("BadGateway", ["local node not active but active cluster node not found"], "transient network"), ("VaultDown", ["Vault is sealed"], "transient network resource permanent"),
        ("ParamValidationError", ["invalid argument"], "validation permanent"), ("UnsupportedOperation", ["unsupported operation"], "permanent validation"),
    ):  # fmt: skip
        yield Labelled(
            right, getattr(he, name)(errors=errors, method="get", url="https://vault:8200/v1/secret"), name
        )


@vendor(HELD, "python-gitlab", "https://docs.gitlab.com/api/rest/troubleshooting/#status-codes")
def gitlab() -> Iterator[Labelled]:
    import gitlab.exceptions as ge

    for name, status, text, right in (
        ("GitlabAuthenticationError", 401, "401 Unauthorized", "permission"), ("GitlabGetError", 404, "404 Project Not Found", "permanent"), ("GitlabCreateError", 409, "already exists", "validation permanent transient"),
        ("GitlabHttpError", 429, "Retry later", "resource"), ("GitlabHttpError", 500, "500 Internal Server Error", "transient"), ("GitlabHttpError", 502, "GitLab is not responding", "transient network"),
        ("GitlabCreateError", 400, "title is missing", "validation permanent"), ("GitlabUpdateError", 403, "403 Forbidden", "permission"), ("GitlabMRClosedError", 405, "Method Not Allowed", "permanent validation"), ("GitlabListError", 503, "Service Unavailable", "transient network"),
    ):  # fmt: skip
        yield Labelled(right, getattr(ge, name)(text, status, b"{}"), f"{status} {name}")
    yield Labelled(
        "validation permanent network", ge.GitlabParsingError("Failed to parse the server message")
    )


@vendor(HELD, "nats-py", "https://docs.nats.io/reference/reference-protocols/nats-protocol; nats/errors.py")
def nats() -> Iterator[Labelled]:
    import nats.errors as ne
    import nats.js.errors as je

    for name, right in (
        ("ConnectionClosedError", NET), ("NoServersError", NET), ("StaleConnectionError", NET), ("UnexpectedEOF", NET), ("TimeoutError", NET), ("ConnectionDrainingError", NET), ("AuthorizationError", "permission"),
        ("OutboundBufferLimitError", "resource transient"), ("SlowConsumerError", None), ("NoRespondersError", "transient network resource"), ("MaxPayloadError", "validation permanent"), ("BadSubjectError", "validation permanent"),
        ("InvalidUserCredentialsError", "permission"), ("DrainTimeoutError", NET), ("SecureConnRequiredError", "permanent permission"), ("JsonParseError", "validation permanent"), ("ConnectionReconnectingError", NET),
    ):  # fmt: skip
        if right is not None:
            yield Labelled(right, getattr(ne, name)(), name)
    for kind, code, err, text, right in (
        ("NotFoundError", 404, 10059, "stream not found", "permanent"), ("BadRequestError", 400, 10025, "bad request", "validation permanent"), ("ServiceUnavailableError", 503, 10008, "jetstream system temporarily unavailable", "transient network resource"),
        ("ServerError", 500, 10023, "insufficient resources", "transient resource"), ("BucketNotFoundError", 404, 10059, "no bucket", "permanent"), ("APIError", 429, 10023, "too many requests", "resource"),
    ):  # fmt: skip
        yield Labelled(right, getattr(je, kind)(code=code, err_code=err, description=text), f"{kind} {code}")


@vendor(HELD, "minio", "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html; minio/error.py")
def minio() -> Iterator[Labelled]:
    import minio.error as me
    import urllib3

    for status, code, right in (
        (403, "AccessDenied", "permission"), (403, "InvalidAccessKeyId", "permission"), (403, "SignatureDoesNotMatch", "permission"), (404, "NoSuchKey", "permanent validation"), (404, "NoSuchBucket", "permanent validation"),
        (409, "BucketAlreadyOwnedByYou", "validation permanent"), (503, "SlowDown", "resource transient"), (503, "XMinioServerNotInitialized", "transient network resource"), (507, "XMinioStorageFull", "resource"), (500, "InternalError", "transient"),
        (400, "EntityTooLarge", "validation permanent"), (400, "RequestTimeout", "transient network"), (416, "InvalidRange", "validation permanent"), (412, "PreconditionFailed", "permanent validation transient"),
    ):  # fmt: skip
        response: Any = urllib3.HTTPResponse(body=b"", status=status)
        yield Labelled(right, me.S3Error(response, code, "told", "/b/k", "1", "2"), code)
    yield Labelled("transient network", me.ServerError("server failed with HTTP status code 502", 502))
    yield Labelled(
        "validation permanent network transient", me.InvalidResponseError(200, "text/html", "<html/>")
    )


@vendor(
    HELD,
    "googleapiclient",
    "https://cloud.google.com/apis/design/errors; https://developers.google.com/drive/api/guides/handle-errors",
)
def google() -> Iterator[Labelled]:
    import json

    import googleapiclient.errors as ge
    import httplib2

    for status, reason, right in (
        (403, "userRateLimitExceeded", "resource"), (403, "rateLimitExceeded", "resource"), (403, "dailyLimitExceeded", "resource permanent"), (403, "insufficientFilePermissions", "permission"), (403, "appNotAuthorizedToFile", "permission"),
        (403, "storageQuotaExceeded", "resource permanent"), (403, "accessNotConfigured", "permission permanent"), (401, "authError", "permission"), (404, "notFound", "permanent"), (400, "badRequest", "validation permanent"),
        (400, "invalidSharingRequest", "validation permanent"), (500, "backendError", "transient"), (503, "backendError", "transient network"), (429, "rateLimitExceeded", "resource"), (409, "duplicate", "validation permanent"),
        (410, "updatedMinTooLongAgo", "permanent validation"), (412, "conditionNotMet", "permanent validation transient"),
    ):  # fmt: skip
        body = {
            "error": {
                "code": status,
                "message": "told",
                "errors": [{"domain": "usageLimits", "reason": reason, "message": "told"}],
            }
        }
        yield Labelled(
            right,
            ge.HttpError(
                httplib2.Response({"status": str(status), "content-type": "application/json"}),
                json.dumps(body).encode(),
                uri="https://www.googleapis.com/x",
            ),
            f"{status} {reason}",
        )
    yield Labelled(NET, httplib2.ServerNotFoundError("Unable to find the server at www.googleapis.com"))
    yield Labelled("permanent", ge.UnknownApiNameOrVersion("name: x version: v9"))


@vendor(HELD, "qdrant-client", "https://api.qdrant.tech/api-reference: status codes")
def qdrant() -> Iterator[Labelled]:
    import httpx
    import qdrant_client.common.client_exceptions as qc
    import qdrant_client.http.exceptions as qe

    for status, reason, right in (
        (400, "Bad Request", "validation permanent"), (401, "Unauthorized", "permission"), (403, "Forbidden", "permission"), (404, "Not Found", "permanent"), (409, "Conflict", "validation permanent transient"),
        (413, "Payload Too Large", "validation permanent"), (429, "Too Many Requests", "resource"), (500, "Internal Server Error", "transient"), (503, "Service Unavailable", "transient network resource"), (422, "Unprocessable Entity", "validation permanent"),
    ):  # fmt: skip
        yield Labelled(
            right,
            qe.UnexpectedResponse(status, reason, b'{"status":{"error":"told"}}', httpx.Headers({})),
            str(status),
        )
    yield Labelled(NET, qe.ResponseHandlingException(httpx.ConnectError("[Errno 111] Connection refused")))
    yield Labelled("network transient", qe.ResponseHandlingException(httpx.ReadTimeout("timed out")))
    yield Labelled("resource", qc.ResourceExhaustedResponse("Too many requests", retry_after_s=5))


@vendor(
    HELD,
    "python-telegram-bot",
    "https://docs.python-telegram-bot.org/en/stable/telegram.error.html; https://core.telegram.org/api/errors",
)
def telegram() -> Iterator[Labelled]:
    import telegram.error as te

    yield Labelled("resource transient", te.RetryAfter(30))
    yield Labelled("network transient", te.TimedOut())
    yield Labelled("network transient", te.NetworkError("httpx.ConnectError: All connection attempts failed"))
    yield Labelled("network transient", te.NetworkError("Bad Gateway"))
    yield Labelled("validation permanent", te.BadRequest("Chat not found"))
    yield Labelled("validation permanent", te.BadRequest("Message text is empty"))
    yield Labelled("permission permanent", te.Forbidden("bot was blocked by the user"))
    yield Labelled("permission", te.InvalidToken("The token `x` was rejected by the server."))
    yield Labelled("permanent transient", te.Conflict("terminated by other getUpdates request"))
    yield Labelled("permanent validation", te.ChatMigrated(17))
    yield Labelled("permanent", te.EndPointNotFound("Endpoint not found"))


@vendor(
    HELD,
    "couchbase",
    "https://docs.couchbase.com/server/current/learn/../sdk-error-reference: Couchbase RFC 58, error handling",
)
def couchbase() -> Iterator[Labelled]:
    import couchbase.exceptions as ce

    for name, right in (
        ("AuthenticationException", "permission"), ("DocumentNotFoundException", "permanent validation"), ("DocumentExistsException", "validation permanent"), ("CASMismatchException", "transient permanent validation"), ("DocumentLockedException", "transient resource"),
        ("TimeoutException", "transient network resource"), ("AmbiguousTimeoutException", "transient network"), ("UnAmbiguousTimeoutException", "transient network"), ("TemporaryFailException", "transient resource"), ("ServiceUnavailableException", "transient network"),
        ("BucketNotFoundException", "permanent validation"), ("RateLimitedException", "resource"), ("QuotaLimitedException", "resource permanent"), ("InvalidArgumentException", "validation permanent"), ("ValueFormatException", "validation permanent"),
        ("ParsingFailedException", "permanent validation"), ("FeatureUnavailableException", "permanent"), ("DurabilityImpossibleException", "transient permanent resource"), ("DurabilitySyncWriteInProgressException", "transient"),
        ("InternalServerFailureException", "transient"), ("RequestCanceledException", "transient network"), ("BucketAlreadyExistsException", "validation permanent"), ("PathNotFoundException", "permanent validation"),
    ):  # fmt: skip
        if kind := getattr(ce, name, None):
            yield Labelled(right, kind("told"), name)


@vendor(
    HELD,
    "jira",
    "https://developer.atlassian.com/cloud/jira/platform/rest/v3/intro/#status-codes; jira/exceptions.py",
)
def jira() -> Iterator[Labelled]:
    import jira.exceptions as je

    for status, text, right in (
        (400, "Field 'x' cannot be set", "validation permanent"), (401, "Client must be authenticated", "permission"), (403, "You do not have permission", "permission"), (404, "Issue does not exist", "permanent"),
        (409, "conflict", "transient validation permanent"), (429, "Rate limit exceeded", "resource"), (500, "Internal server error", "transient"), (502, "Bad Gateway", "transient network"), (503, "Service unavailable", "transient network resource"),
    ):  # fmt: skip
        response = SimpleNamespace(status_code=status, headers={}, text="", reason="told", json=dict)
        yield Labelled(
            right,
            je.JIRAError(text=text, status_code=status, url="https://x", response=response),
            str(status),
        )
