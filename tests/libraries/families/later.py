"""A second list, written after the rules had been mended by the first: the score of its first run is the honest one."""

from __future__ import annotations

import asyncio
import errno
import http.client
import imaplib
import json
import os
import poplib
import smtplib
import socket
import ssl
import subprocess
from collections.abc import Iterator
from typing import Any

from tests.libraries.cases import Case, caught, caused, family, meanwhile

BACKOFF = "network/exponential transient/exponential resource/exponential"
BOUNDED = "transient/exponential resource/linear resource/exponential network/exponential"
NEVER = "permanent/never validation/never permission/never"
LIMITED = "resource/exponential resource/linear transient/exponential"
RECONNECT = "network/immediate network/exponential transient/exponential transient/immediate"
AGAIN = f"{BOUNDED} transient/immediate"

AWS = """
TooManyRequests                    429 resource/exponential limited
RequestThrottled                   400 resource/exponential limited
ThrottlingError                    400 resource/exponential limited
LimitExceededFault                 400 resource/linear limited+never
SubscriptionLimitExceeded          400 resource/linear limited+never
AddressLimitExceeded               400 resource/linear limited+never
ClusterQuotaExceeded               400 resource/linear limited+never
InsufficientStorageClusterCapacity 400 resource/linear limited+never
ReservedInstancesOfferingNotFound  404 permanent/never never
DBClusterNotFoundFault             404 permanent/never never
CacheClusterNotFound               404 permanent/never never
TopicNotFound                      404 permanent/never never
ObjectNotInActiveTierError         403 permanent/never never
NoSuchHostedZone                   404 permanent/never never
NoSuchDistribution                 404 permanent/never never
RepositoryNotFoundException        400 permanent/never never
ImageNotFoundException             400 permanent/never never
LayerVersionNotFound               404 permanent/never never
RepositoryAlreadyExistsException   400 validation/never never
DBSnapshotAlreadyExists            400 validation/never never
QueueAlreadyExists                 400 validation/never never
QueueNameExists                    400 validation/never never
InvalidKeyPair.Duplicate           400 validation/never never
InvalidSequenceTokenException      400 validation/never bounded+never
InvalidParameterException          400 validation/never never
InvalidAttributeValue              400 validation/never never
MalformedQueryString               404 validation/never never
MissingAction                      400 validation/never never
BadRequestException                400 validation/never never
MessageTooLong                     400 validation/never never
ResourceLimitExceeded              400 resource/linear limited+never
InternalServiceError               500 transient/exponential backoff
InternalServerException            500 transient/exponential backoff
InternalServiceErrorException      500 transient/exponential backoff
ServiceTemporarilyUnavailable      503 transient/exponential backoff
DependencyThrottlingException      400 resource/exponential bounded
RequestInProgressException         409 transient/exponential bounded
TooManyUpdates                     400 resource/exponential bounded
UpdateInProgressException          400 transient/exponential bounded
VolumeInUse                        400 transient/exponential bounded+never
DuplicateTransactionException      400 validation/never bounded+never
NotAuthorizedException             400 permission/never never
UnauthorizedException              401 permission/never never
ForbiddenException                 403 permission/never never
AuthorizationError                 403 permission/never never
KMSDisabledException               400 permanent/never never
UserNotFoundException              400 permanent/never never
UserNotConfirmedException          400 permanent/never never
PasswordResetRequiredException     400 permission/never never
CodeMismatchException              400 validation/never never
ExpiredCodeException               400 permission/never never
SubscriptionRequiredException      403 permission/never never
InvalidGrantException              400 permission/never never
AccountSuspended                   403 permission/never never
NoSuchLifecycleConfiguration       404 permanent/never never
NotSignedUp                        403 permission/never never
"""
ALSO = {"limited": LIMITED, "backoff": BACKOFF, "bounded": AGAIN, "never": NEVER}


@family("botocore", "the services' API references, error codes")
def aws() -> Iterator[Case]:
    import botocore.exceptions as bx

    for line in AWS.strip().splitlines():
        code, status, expected, names = line.split()
        meta = {"HTTPStatusCode": int(status), "HTTPHeaders": {}}
        exc = bx.ClientError({"Error": {"Code": code, "Message": "told"}, "ResponseMetadata": meta}, "Call")
        yield Case(expected, exc, " ".join(ALSO[n] for n in names.split("+")), code)
    yield Case("validation/never", bx.ParamValidationError(report="Invalid type for parameter Key"), NEVER)
    yield Case("permanent/never", bx.UnknownClientMethodError(method_name="x"), NEVER)
    yield Case("permanent/never", bx.ConfigNotFound(path="/x"), NEVER)
    yield Case("permanent/never", bx.MissingDependencyException(msg="Missing Dependency: awscrt"), NEVER)
    yield Case("network/exponential", caused(RuntimeError("sync"), bx.EndpointConnectionError(endpoint_url="https://x")), BACKOFF)
    yield Case("permission/never", bx.NoAuthTokenError(), NEVER)
    yield Case("permission/never", bx.SSOTokenLoadError(error_msg="Token has expired"), NEVER)
    yield Case("transient/exponential", bx.WaiterError("stack_create_complete", "Waiter encountered a terminal failure state", {}), f"{BOUNDED} permanent/never")


@family("stdlib", "the manuals of the modules; errno(3)")
def standard() -> Iterator[Case]:
    for name, expected, also in (
        ("ECOMM", "network/exponential", BACKOFF), ("EPROTO", "network/exponential", f"{BACKOFF} permanent/never"), ("EREMOTEIO", "network/exponential", BOUNDED),
        ("ENOTBLK", "permanent/never", NEVER), ("EALREADY", "transient/immediate", f"{AGAIN} network/exponential"), ("EINPROGRESS", "transient/immediate", f"{AGAIN} network/exponential"),
        ("ECANCELED", "transient/exponential", f"{AGAIN} permanent/never"), ("EHOSTDOWN", "network/exponential", BACKOFF), ("EUSERS", "resource/linear", BOUNDED),
        ("EKEYEXPIRED", "permission/never", NEVER), ("EKEYREJECTED", "permission/never", NEVER), ("ENOMEDIUM", "permanent/never", NEVER), ("EUCLEAN", "permanent/never", f"{NEVER} transient/exponential"),
        ("ENOSTR", "permanent/never", f"{NEVER} transient/exponential"), ("EBADMSG", "permanent/never", f"{NEVER} {BOUNDED}"), ("EOWNERDEAD", "transient/exponential", AGAIN),
        ("EDESTADDRREQ", "permanent/never", NEVER), ("EPFNOSUPPORT", "permanent/never", NEVER), ("ENOPKG", "permanent/never", f"{NEVER} transient/exponential"), ("ESTRPIPE", "network/exponential", f"{BOUNDED}"),
    ):  # fmt: skip
        number = getattr(errno, name)
        yield Case(expected, OSError(number, os.strerror(number)), also, name)
    for reason, expected, also in (
        ("SSLV3_ALERT_CERTIFICATE_REVOKED", "permanent/never", NEVER), ("TLSV1_ALERT_ACCESS_DENIED", "permanent/never", NEVER), ("SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", "permanent/never", NEVER),
        ("TLSV1_ALERT_INTERNAL_ERROR", "network/exponential", f"{BACKOFF} permanent/never"), ("UNEXPECTED_EOF_WHILE_READING", "network/exponential", RECONNECT),
        ("NO_PROTOCOLS_AVAILABLE", "permanent/never", NEVER), ("EE_KEY_TOO_SMALL", "permanent/never", NEVER), ("CA_MD_TOO_WEAK", "permanent/never", NEVER),
        ("HTTP_REQUEST", "permanent/never", NEVER), ("LENGTH_MISMATCH", "network/exponential", f"{BACKOFF} permanent/never"), ("APPLICATION_DATA_AFTER_CLOSE_NOTIFY", "network/exponential", RECONNECT),
        ("BAD_SIGNATURE", "permanent/never", f"{NEVER} {BACKOFF}"), ("TLSV1_ALERT_DECRYPT_ERROR", "permanent/never", f"{NEVER} {BACKOFF}"),
    ):  # fmt: skip
        yield Case(expected, ssl.SSLError(1, f"[SSL: {reason}] {reason.lower().replace('_', ' ')} (_ssl.c:1006)"), also, reason)
    yield Case("permanent/never", ssl.CertificateError("hostname 'a' doesn't match 'b'"), NEVER)
    yield Case("validation/never", caught(lambda: json.loads("")), NEVER)
    yield Case("validation/never", caught(lambda: json.loads('{"a": 1} trailing')), NEVER)
    yield Case("network/exponential", caught(lambda: json.loads('{"a": tru')), f"{NEVER} {BACKOFF}")
    yield Case("permanent/never", caught(lambda: asyncio.run(3)), NEVER)
    yield Case("network/exponential", caught(lambda: asyncio.run(asyncio.wait_for(asyncio.sleep(9), 0.001))), BACKOFF)
    yield Case("permanent/never", ExceptionGroup("g", [ConnectionError("x"), AssertionError("y")]), NEVER)
    yield Case("network/exponential", meanwhile(OSError("could not save the answer"), TimeoutError("read")), AGAIN)
    yield Case("validation/never", caused(RuntimeError("bad row 429"), ValueError("503")), NEVER)
    yield Case("permanent/never", KeyError("rate limit"), NEVER)
    yield Case("validation/never", ValueError("Connection reset by peer is not a valid state"), NEVER)
    yield Case("permanent/never", TypeError("timed out must be a number"), NEVER)
    yield Case("validation/never", ValueError("SSL certificate path must be a string"), NEVER)
    yield Case("validation/never", ValueError("information format access"), NEVER, "words of lesson 46")
    yield Case("transient/exponential", Exception("information about access to the format"), f"{BOUNDED} {NEVER}")
    yield Case("permanent/never", NotADirectoryError(20, "Not a directory", "/srv/timeout"), NEVER)
    yield Case("permanent/never", FileExistsError(17, "File exists", "/run/connection.lock"), NEVER)
    yield Case("permission/never", PermissionError(13, "Permission denied", "/srv/retry/503"), "")
    yield Case("network/exponential", ConnectionResetError(), RECONNECT)
    yield Case("network/exponential", OSError("Tunnel connection failed: 503 Service Unavailable"), BOUNDED)
    yield Case("permission/never", OSError("Tunnel connection failed: 407 Proxy Authentication Required"), NEVER)
    yield Case("network/exponential", socket.gaierror("Temporary failure in name resolution"), BOUNDED)
    yield Case("network/exponential", http.client.HTTPException("got more than 100 headers"), f"{BACKOFF} {NEVER}")
    yield Case("permanent/never", http.client.UnknownProtocol("HTTP/9"), NEVER)
    yield Case("permanent/never", http.client.ResponseNotReady("Idle"), f"{NEVER} {BACKOFF}")
    yield Case("transient/exponential", smtplib.SMTPResponseException(421, b"4.3.2 not accepting"), BACKOFF)
    yield Case("permanent/never", smtplib.SMTPResponseException(502, b"command not implemented"), NEVER)
    yield Case("transient/exponential", smtplib.SMTPRecipientsRefused({"a@b": (450, b"mailbox busy"), "c@d": (250, b"ok")}), BACKOFF)
    yield Case("permission/never", imaplib.IMAP4.error("LOGIN failed."), NEVER)
    yield Case("permanent/never", imaplib.IMAP4.error("SELECT command error: BAD"), NEVER)
    yield Case("network/exponential", imaplib.IMAP4.abort("connection lost"), RECONNECT)
    yield Case("network/exponential", poplib.error_proto("unexpected end"), BACKOFF)
    for code, expected, also in ((77, "permission/never", NEVER), (100, "transient/exponential", "permanent/never"), (128, "transient/exponential", f"{NEVER} {BOUNDED}"), (129, "transient/exponential", BOUNDED), (255, "transient/exponential", f"{BOUNDED} permanent/never")):  # fmt: skip
        yield Case(expected, subprocess.CalledProcessError(code, ["rsync"]), also, f"exit code {code}")
    yield Case("resource/linear", subprocess.CalledProcessError(-9, ["ffmpeg"]), BOUNDED)


@family("requests", "RFC 9110; messages of the libraries")
def clients() -> Iterator[Case]:
    import aiohttp
    import httpx
    import requests
    import urllib3.exceptions as ux

    def answer(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> BaseException:
        response = requests.Response()
        response.status_code, response._content, response.url = status, body, "https://x"
        response.headers.update(headers or {})
        return caught(response.raise_for_status)

    for status, expected, also in (
        (440, "permission/never", NEVER), (449, "transient/exponential", f"{BOUNDED} {NEVER}"), (460, "network/exponential", BACKOFF), (521, "network/exponential", BACKOFF),
        (523, "network/exponential", BACKOFF), (525, "network/exponential", f"{BACKOFF} permanent/never"), (530, "network/exponential", BACKOFF), (509, "resource/exponential", LIMITED),
        (444, "network/exponential", BACKOFF), (494, "validation/never", NEVER), (510, "permanent/never", NEVER), (502, "transient/exponential", BACKOFF),
    ):  # fmt: skip
        yield Case(expected, answer(status), also, f"HTTP {status}")
    yield Case("permission/never", answer(401, b'{"error": "invalid_token"}'), "")
    yield Case("permission/never", answer(403, b'{"error": {"code": "access_denied"}}'), "")
    yield Case("validation/never", answer(400, b'{"error": "invalid_grant"}'), NEVER)
    yield Case("resource/exponential", answer(503, b"", {"Retry-After": "3"}), BACKOFF)
    yield Case("resource/exponential", answer(400, b'{"error": {"code": "rateLimitExceeded"}}'), LIMITED)
    yield Case("resource/linear", answer(507), BOUNDED)
    yield Case("transient/exponential", answer(500, b"permission denied while reading the certificate"), BACKOFF)
    yield Case("permanent/never", answer(404, b"please try again later"), NEVER)
    yield Case("validation/never", answer(422, b'{"detail": "timeout must be positive"}'), NEVER)
    connect = requests.exceptions.ConnectionError
    for text, expected, also in (
        ("('Connection aborted.', OSError(0, 'Error'))", "network/exponential", BACKOFF), ("Max retries exceeded (Caused by ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 407 Proxy Authentication Required')))", "permission/never", NEVER),
        ("(Caused by SSLError(SSLError(1, '[SSL: SSLV3_ALERT_HANDSHAKE_FAILURE] sslv3 alert handshake failure')))", "permanent/never", NEVER),
        ("(Caused by NameResolutionError(\"Failed to resolve 'a.invalid' ([Errno -2] Name or service not known)\"))", "network/exponential", "permanent/never"),
        ("(Caused by NewConnectionError('[Errno 101] Network is unreachable'))", "network/exponential", BACKOFF),
    ):  # fmt: skip
        yield Case(expected, connect(text), also, text)
    yield Case("validation/never", requests.exceptions.InvalidJSONError("Out of range float values are not JSON compliant"), NEVER)
    yield Case("network/exponential", httpx.ReadTimeout("The read operation timed out"), BACKOFF)
    yield Case("network/exponential", httpx.ConnectError("[Errno 111] Connection refused"), BACKOFF)
    yield Case("network/exponential", httpx.RemoteProtocolError("peer closed connection without sending complete message body"), BACKOFF)
    yield Case("permanent/never", httpx.InvalidURL("Invalid port: 'x'"), NEVER)
    yield Case("network/exponential", httpx.TransportError("x"), BACKOFF)
    yield Case("validation/never", aiohttp.ClientError("x"), f"{NEVER} {BOUNDED}")
    yield Case("network/exponential", aiohttp.ServerConnectionError(), BACKOFF)
    yield Case("network/exponential", caused(Exception("x"), aiohttp.ServerDisconnectedError()), RECONNECT)
    yield Case("network/exponential", ux.IncompleteRead(0, 5), BACKOFF)
    yield Case("validation/never", ux.LocationValueError("No host specified."), NEVER)
    yield Case("network/exponential", ux.HTTPError("x"), BACKOFF)
    yield Case("permanent/never", ux.ProxySchemeUnsupported("TLS in TLS requires support for the 'ssl' module"), NEVER)


@family("psycopg", "PostgreSQL manual, appendix A")
def postgres() -> Iterator[Case]:
    import psycopg2
    from psycopg import errors

    for state, expected, also in (
        ("09000", "permanent/never", NEVER), ("0B000", "permanent/never", NEVER), ("20000", "permanent/never", NEVER),
        ("22008", "validation/never", NEVER), ("22011", "validation/never", NEVER), ("22032", "validation/never", NEVER), ("2200G", "validation/never", NEVER), ("23000", "validation/never", NEVER),
        ("23001", "validation/never", NEVER), ("24000", "permanent/never", NEVER), ("26000", "network/immediate", f"{RECONNECT} permanent/never"), ("2D000", "permanent/never", NEVER), ("34000", "permanent/never", NEVER),
        ("38000", "permanent/never", NEVER), ("39000", "permanent/never", NEVER), ("40000", "transient/immediate", "transient/exponential"), ("42702", "permanent/never", NEVER), ("42803", "permanent/never", NEVER),
        ("42804", "permanent/never", NEVER), ("42846", "permanent/never", NEVER), ("42P18", "permanent/never", NEVER), ("44000", "validation/never", NEVER), ("53100", "resource/linear", BOUNDED), ("54023", "validation/never", NEVER),
        ("55P02", "permanent/never", NEVER), ("57000", "transient/exponential", AGAIN), ("58000", "transient/exponential", f"{AGAIN} permanent/never"), ("HV000", "permanent/never", f"{NEVER} {BOUNDED}"), ("P0000", "permanent/never", NEVER),
        ("P0003", "permanent/never", NEVER), ("P0004", "permanent/never", NEVER), ("XX001", "permanent/never", ""), ("25P04", "transient/exponential", f"{AGAIN} network/exponential"), ("25007", "permanent/never", NEVER),
    ):  # fmt: skip
        yield Case(expected, errors.lookup(state)("сообщение на другом языке"), also, state)
    for text, expected, also in (
        ("FATAL:  terminating connection due to administrator command", "network/exponential", RECONNECT), ("FATAL:  the database system is not yet accepting connections", "transient/exponential", BOUNDED),
        ("FATAL:  connection limit exceeded for non-superusers", "resource/linear", BOUNDED), ('FATAL:  too many connections for role "app"', "resource/linear", BOUNDED), ('FATAL:  password authentication failed for user "app"', "permission/never", ""),
        ("could not connect to server: Network is unreachable", "network/exponential", BACKOFF), ("SSL connection has been closed unexpectedly", "network/exponential", RECONNECT), ('FATAL:  permission denied for database "app"', "permission/never", ""),
        ("FATAL:  unsupported startup parameter: options", "permanent/never", f"{NEVER} transient/exponential"), ("FATAL:  Peer authentication failed for user", "permission/never", ""), ('invalid port number: "x"', "permanent/never", NEVER),
        ("could not open socket: Too many open files", "resource/exponential", BOUNDED), ("SSL error: sslv3 alert handshake failure", "permanent/never", f"{NEVER} {BACKOFF}"), ("server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally", "network/exponential", RECONNECT),
        ("el servidor cerró la conexión inesperadamente", "network/exponential", BOUNDED), ("データベースシステムは起動中です", "transient/exponential", BOUNDED), ("out of memory for query result", "resource/linear", BOUNDED),
    ):  # fmt: skip
        yield Case(expected, psycopg2.OperationalError(f"{text}\n"), also, text)


@family("servers", "the manuals of MySQL, MongoDB, Redis, RabbitMQ, Kafka, Elasticsearch")
def servers() -> Iterator[Case]:
    import amqp.exceptions as ax
    import kafka.errors as kf
    import kombu.exceptions as ke
    import pika.exceptions as px
    import pymongo.errors as pe
    import redis.exceptions as rx
    import sqlalchemy.exc as sx
    from opensearchpy import exceptions as oe
    from pymysql import err

    for number, expected, also in (
        (1216, "validation/never", NEVER), (1217, "validation/never", NEVER), (1264, "validation/never", NEVER), (1292, "validation/never", NEVER), (1050, "permanent/never", NEVER), (1046, "permanent/never", NEVER), (1051, "permanent/never", NEVER),
        (1227, "permission/never", ""), (1370, "permission/never", ""), (1226, "resource/linear", BOUNDED), (1129, "permission/never", f"{NEVER} {BOUNDED}"), (2005, "network/exponential", f"{BACKOFF} permanent/never"), (2014, "network/exponential", f"{RECONNECT} permanent/never"),
        (2055, "network/exponential", RECONNECT), (1158, "network/exponential", RECONNECT), (1159, "network/exponential", RECONNECT), (1969, "transient/exponential", BOUNDED), (3572, "transient/immediate", AGAIN), (1792, "transient/exponential", f"{AGAIN} {NEVER}"),
        (1836, "transient/exponential", f"{AGAIN} {NEVER}"), (1037, "resource/linear", BOUNDED), (1041, "resource/linear", BOUNDED), (3819, "validation/never", NEVER), (1242, "permanent/never", NEVER), (1093, "permanent/never", NEVER), (1071, "permanent/never", NEVER), (1215, "permanent/never", NEVER),
        (1297, "transient/exponential", AGAIN), (1479, "permanent/never", NEVER), (4031, "network/exponential", RECONNECT),
    ):  # fmt: skip
        yield Case(expected, err.OperationalError(number, "told"), also, f"MySQL {number}")
    yield Case("validation/never", sx.IntegrityError("q", {}, err.IntegrityError(1062, "Duplicate entry")), NEVER)
    yield Case("transient/immediate", sx.OperationalError("q", {}, err.OperationalError(1213, "Deadlock found")), "transient/exponential")
    yield Case("network/exponential", sx.OperationalError("q", {}, err.OperationalError(2013, "Lost connection")), RECONNECT)
    for code, expected, also in (
        (11000, "validation/never", NEVER), (112, "transient/immediate", "transient/exponential"), (50, "transient/exponential", BOUNDED), (43, "transient/exponential", f"{AGAIN} permanent/never"), (13436, "transient/exponential", BOUNDED), (134, "transient/exponential", BOUNDED),
        (251, "transient/immediate", f"{BOUNDED} permanent/never"), (27, "permanent/never", NEVER), (68, "permanent/never", NEVER), (86, "permanent/never", NEVER), (115, "permanent/never", NEVER), (10334, "validation/never", NEVER), (17280, "validation/never", NEVER), (133, "transient/exponential", BOUNDED),
        (28769, "permanent/never", NEVER), (51024, "permanent/never", NEVER), (5, "permanent/never", f"{NEVER} transient/exponential"), (334, "permission/never", f"{NEVER} transient/exponential"), (323, "permanent/never", NEVER), (72, "permanent/never", NEVER),
    ):  # fmt: skip
        yield Case(expected, pe.OperationFailure("told", code, {"code": code}), also, f"MongoDB {code}")
    yield Case("network/exponential", pe.ServerSelectionTimeoutError("SSL handshake failed: timed out"), BACKOFF)
    yield Case("permanent/never", pe.ServerSelectionTimeoutError("SSL handshake failed: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), NEVER)
    for text, expected, also in (
        ("WRONGPASS invalid username-password pair", "permission/never", ""), ("NOTBUSY No scripts in execution right now.", "permanent/never", NEVER), ("ERR wrong number of arguments for 'get' command", "permanent/never", NEVER), ("ERR no such key", "permanent/never", NEVER),
        ("MISCONF Errors writing to the AOF file", "resource/linear", BOUNDED), ("FAILOVER in progress", "transient/exponential", AGAIN), ("NOQUORUM not enough", "transient/exponential", f"{AGAIN} permanent/never"), ("ERR invalid expire time in 'set' command", "permanent/never", NEVER),
        ("ERR Client sent AUTH, but no password is set", "permission/never", NEVER), ("NOPROTO unsupported protocol version", "permanent/never", NEVER), ("STALE replica", "transient/exponential", f"{AGAIN} permanent/never"),
    ):  # fmt: skip
        yield Case(expected, rx.ResponseError(text), also, text)
    yield Case("permission/never", rx.ConnectionError("AUTH failed: WRONGPASS invalid username-password pair"), NEVER)
    yield Case("network/exponential", rx.ConnectionError("Error 110 connecting to 10.0.0.1:6379. Connection timed out."), BACKOFF)
    yield Case("network/exponential", rx.ConnectionError("Error while reading from localhost:6379 : (104, 'Connection reset by peer')"), RECONNECT)
    yield Case("transient/exponential", rx.LockError("Cannot release an unlocked lock"), f"{AGAIN} {NEVER} resource/linear")
    yield Case("network/exponential", ax.RecoverableConnectionError("connection already closed", None), RECONNECT)
    yield Case("permanent/never", ax.ChannelNotOpen("told", (0, 0)), f"{NEVER} {RECONNECT}")
    yield Case("permanent/never", px.ChannelClosedByBroker(405, "RESOURCE_LOCKED"), f"{NEVER} {AGAIN}")
    yield Case("transient/exponential", px.ConnectionClosedByBroker(541, "INTERNAL_ERROR"), AGAIN)
    yield Case("network/exponential", px.ConnectionOpenAborted("aborted"), RECONNECT)
    yield Case("network/exponential", px.ConnectionClosed(0, "closed"), RECONNECT)
    yield Case("network/exponential", caused(ke.OperationalError("x"), ConnectionRefusedError(111, "refused")), BACKOFF)
    for name, expected, also in (
        ("BrokerNotAvailableError", "network/exponential", BOUNDED), ("ReplicaNotAvailableError", "transient/exponential", BOUNDED), ("UnknownError", "permanent/never", f"{NEVER} {BOUNDED}"), ("InvalidMessageError", "validation/never", f"{NEVER} {BOUNDED}"),
        ("InvalidSessionTimeoutError", "permanent/never", NEVER), ("InvalidGroupIdError", "permanent/never", NEVER), ("StaleMetadata", "transient/exponential", AGAIN), ("TooManyInFlightRequests", "transient/exponential", AGAIN), ("SaslAuthenticationFailedError", "permission/never", ""),
        ("UnsupportedForMessageFormatError", "permanent/never", NEVER), ("InvalidRequiredAcksError", "permanent/never", NEVER), ("NotLeaderForPartitionError", "transient/exponential", AGAIN), ("Cancelled", "transient/exponential", AGAIN), ("InvalidConfigurationError", "validation/never", NEVER), ("UnrecognizedBrokerVersion", "permanent/never", NEVER),
    ):  # fmt: skip
        if hasattr(kf, name):
            yield Case(expected, getattr(kf, name)("told"), also, name)
    for status, kind, expected, also in (
        (400, "illegal_argument_exception", "validation/never", NEVER), (400, "script_exception", "validation/never", NEVER), (404, "document_missing_exception", "permanent/never", NEVER), (400, "too_many_buckets_exception", "validation/never", f"{NEVER} {BOUNDED}"),
        (503, "cluster_block_exception", "transient/exponential", BOUNDED), (429, "circuit_breaking_exception", "resource/exponential", LIMITED), (403, "cluster_block_exception", "resource/linear", BOUNDED), (500, "null_pointer_exception", "transient/exponential", f"{BACKOFF} permanent/never"), (400, "strict_dynamic_mapping_exception", "validation/never", NEVER),
    ):  # fmt: skip
        yield Case(expected, oe.TransportError(status, kind, {"error": {"type": kind}}), also, kind)


@family("apis", "the vendors' API references")
def apis() -> Iterator[Case]:
    import azure.core.exceptions as az
    import google.api_core.exceptions as gx
    import grpc
    import openai
    import slack_sdk.errors as se
    import stripe
    from grpc import _channel
    from kubernetes.client.exceptions import ApiException

    for code, details, expected, also in (
        ("UNAVAILABLE", "upstream connect error or disconnect/reset before headers", "network/exponential", BACKOFF), ("UNAVAILABLE", "Socket closed", "network/exponential", BACKOFF), ("UNKNOWN", "Stream removed", "transient/exponential", BACKOFF), ("INTERNAL", "Received RST_STREAM with error code 8", "transient/exponential", BACKOFF),
        ("CANCELLED", "Received RST_STREAM with error code 8", "transient/exponential", AGAIN), ("UNAUTHENTICATED", "Request had invalid authentication credentials", "permission/never", ""), ("FAILED_PRECONDITION", "The query requires an index", "permanent/never", NEVER), ("INVALID_ARGUMENT", "deadline must be in the future", "validation/never", NEVER),
        ("RESOURCE_EXHAUSTED", "trailing metadata size exceeds soft limit", "resource/exponential", f"{LIMITED} {NEVER}"), ("ABORTED", "the transaction was aborted", "transient/immediate", "transient/exponential"), ("DEADLINE_EXCEEDED", "Deadline Exceeded", "network/exponential", BACKOFF), ("INTERNAL", "failed to marshal request", "permanent/never", f"{NEVER} transient/exponential"),
    ):  # fmt: skip
        exc: Any = _channel._InactiveRpcError(_channel._RPCState((), (), (), getattr(grpc.StatusCode, code), details))
        yield Case(expected, exc, also, f"{code} {details}")
    for reason, status, expected, also in (
        ("backendError", 503, "transient/exponential", BACKOFF), ("rateLimitExceeded", 403, "resource/exponential", LIMITED), ("notFound", 404, "permanent/never", NEVER), ("duplicate", 409, "validation/never", NEVER), ("responseTooLarge", 403, "validation/never", NEVER), ("stopped", 200, "transient/exponential", f"{BOUNDED} permanent/never"),
        ("resourcesExceeded", 400, "resource/linear", f"{BOUNDED} {NEVER}"), ("billingTierLimitExceeded", 400, "permanent/never", f"{NEVER} resource/linear"), ("blocked", 403, "permission/never", NEVER), ("resourceInUse", 400, "transient/exponential", f"{AGAIN} {NEVER}"), ("tableUnavailable", 400, "transient/exponential", AGAIN), ("invalid", 400, "validation/never", NEVER),
    ):  # fmt: skip
        made: Any = gx.from_http_status(status, "told", errors=[{"reason": reason}]) if status >= 400 else gx.GoogleAPICallError("told", errors=[{"reason": reason}])
        yield Case(expected, made, also, reason)
    for error, expected, also in (
        ("channel_not_found", "permanent/never", NEVER), ("channel_is_archived", "permanent/never", NEVER), ("restricted_action", "permission/never", ""), ("not_allowed_token_type", "permission/never", ""), ("invalid_cursor", "validation/never", NEVER), ("thread_not_found", "permanent/never", NEVER),
        ("file_deleted", "permanent/never", NEVER), ("name_taken", "validation/never", NEVER), ("already_in_channel", "validation/never", NEVER), ("too_many_users", "validation/never", f"{NEVER}"), ("user_is_bot", "permanent/never", NEVER), ("two_factor_setup_required", "permission/never", NEVER), ("message_limit_exceeded", "resource/linear", LIMITED), ("invalid_metadata_schema", "validation/never", NEVER),
    ):  # fmt: skip
        response: Any = type("Answer", (dict,), {"status_code": 200, "headers": {}})({"ok": False, "error": error})
        yield Case(expected, se.SlackApiError("The request to the Slack API failed.", response), also, error)
    for code, status, expected, also in (
        ("account_invalid", 403, "permission/never", NEVER), ("api_key_expired", 401, "permission/never", ""), ("charge_already_captured", 400, "permanent/never", NEVER), ("url_invalid", 400, "validation/never", NEVER), ("tax_id_invalid", 400, "validation/never", NEVER), ("resource_already_exists", 400, "validation/never", NEVER), ("secret_key_required", 401, "permission/never", NEVER),
    ):  # fmt: skip
        yield Case(expected, stripe.InvalidRequestError("told", None, code, http_status=status), also, code)
    for decline in ("do_not_honor", "fraudulent", "lost_card"):
        yield Case("permanent/never", stripe.CardError("told", None, "card_declined", http_status=402, json_body={"error": {"code": "card_declined", "decline_code": decline}}), NEVER, decline)
    for code, status, expected, also in (
        ("BlobImmutableDueToPolicy", 409, "permanent/never", f"{NEVER} {BOUNDED}"), ("ContainerNotFound", 404, "permanent/never", NEVER), ("QueueBeingDeleted", 409, "transient/exponential", AGAIN), ("AuthorizationFailure", 403, "permission/never", ""), ("OutOfRangeInput", 400, "validation/never", NEVER), ("EntityTooLarge", 413, "validation/never", NEVER),
        ("AccountIsDisabled", 403, "permission/never", NEVER), ("TooManyRequests", 429, "resource/exponential", LIMITED), ("QuotaExceeded", 409, "resource/linear", f"{LIMITED} {NEVER}"), ("OperationNotAllowed", 409, "permission/never", f"{NEVER} {BOUNDED}"), ("SkuNotAvailable", 409, "resource/linear", f"{BOUNDED} {NEVER}"), ("AnotherOperationInProgress", 409, "transient/exponential", AGAIN), ("InvalidTemplate", 400, "validation/never", NEVER),
    ):  # fmt: skip
        failed: Any = az.HttpResponseError("told")
        failed.status_code, failed.error_code = status, code
        failed.error = type("ODataV4Format", (), {"code": code, "message": "told"})()
        yield Case(expected, failed, also, code)
    for status, body, expected, also in (
        (403, '{"reason": "Forbidden", "message": "pods is forbidden: User cannot list resource"}', "permission/never", ""), (500, '{"reason": "InternalError", "message": "etcdserver: request timed out"}', "transient/exponential", BACKOFF), (503, '{"reason": "ServiceUnavailable"}', "transient/exponential", BACKOFF),
        (422, '{"reason": "Invalid", "message": "spec is immutable"}', "validation/never", NEVER), (404, '{"reason": "NotFound"}', "permanent/never", ""), (429, '{"reason": "TooManyRequests"}', "resource/exponential", LIMITED), (409, '{"reason": "Conflict", "message": "the object has been modified"}', "transient/immediate", "transient/exponential"),
    ):  # fmt: skip
        api = ApiException(status=status, reason="told")
        api.body = body
        yield Case(expected, api, also, body)
    yield Case("permission/never", openai.OpenAIError("The api_key client option must be set"), f"{NEVER}")
